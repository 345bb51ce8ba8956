/// Why the octets of a peer are no request that this server takes (RFC 9112 §2.2, §3, §5, §6, §7).
///
/// After any of these nobody knows where the next request begins, so the connection is closed.
package enum HTTPRefusal: Error, Equatable, Sendable, CaseIterable {
  case headTooLarge, tooManyFields, unsupportedVersion, unsupportedCoding, unknownExpectation
  case bareLineFeed, bareCarriageReturn, controlCharacter
  case malformedRequestLine, malformedTarget, malformedField, foldedField
  case missingHost, repeatedHost, malformedHost
  case malformedLength, repeatedLength, lengthAndCoding, repeatedCoding, codingInOldVersion
  case malformedChunk, chunkTooLarge, malformedTrailer, trailerTooLarge

  /// The status of the answer.
  package var status: Int {
    switch self {
    case .headTooLarge, .tooManyFields: 431
    case .unsupportedVersion: 505
    case .unsupportedCoding: 501
    case .unknownExpectation: 417
    default: 400
    }
  }

  /// What is wrong, for whoever wrote the client. It quotes nothing of the request.
  package var reason: String {
    switch self {
    case .headTooLarge: "the request head is too large"
    case .tooManyFields: "the request has too many header fields"
    case .unsupportedVersion: "only HTTP/1.1 and HTTP/1.0 are spoken here"
    case .unsupportedCoding: "Transfer-Encoding must be exactly chunked"
    case .unknownExpectation: "Expect must be 100-continue"
    case .bareLineFeed: "a line ends with LF instead of CRLF"
    case .bareCarriageReturn: "CR stands without LF"
    case .controlCharacter: "a control character stands in the request head"
    case .malformedRequestLine: "the request line is malformed"
    case .malformedTarget: "the request target must be a plain absolute path"
    case .malformedField: "a header field is malformed"
    case .foldedField: "a header field is folded"
    case .missingHost: "Host is missing"
    case .repeatedHost: "Host is repeated"
    case .malformedHost: "Host is malformed"
    case .malformedLength: "Content-Length is not a plain number"
    case .repeatedLength: "Content-Length is repeated"
    case .lengthAndCoding: "both Content-Length and Transfer-Encoding are given"
    case .repeatedCoding: "Transfer-Encoding is repeated"
    case .codingInOldVersion: "HTTP/1.0 has no Transfer-Encoding"
    case .malformedChunk: "a chunk is malformed"
    case .chunkTooLarge: "a chunk is too large"
    case .malformedTrailer: "a trailer field is malformed"
    case .trailerTooLarge: "the trailer section is too large"
    }
  }
}
