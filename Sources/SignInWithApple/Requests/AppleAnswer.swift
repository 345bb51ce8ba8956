package import Cryptography
import Encodings
package import HTTPMessages

/// Why Apple did not do what it was asked, by what is to be done about it.
package enum AppleRefusal: Error, Equatable, Sendable {
  /// `invalid_grant`: the code was used, is over or another client's; the refresh token is revoked. The one answer
  /// that says something of the user.
  case invalidGrant(detail: String?)
  /// `invalid_client` and its kin: this server's configuration is wrong, or the client is not the token's. An alarm
  /// for the operator; nothing happens to the user.
  case configuration(error: String, detail: String?)
  /// `invalid_request`: malformed, or, as some report, a consent that is gone. A suspicion, to be confirmed another
  /// day before anything is done about it.
  case suspect(detail: String?)
  /// Nothing that says anything: too many requests, a failure of Apple's, a page instead of JSON.
  case retryable(status: Int, retryAfter: Int64?)
  /// No answer at all.
  ///
  /// `mayHaveArrived`: false is certain; after true a code may be used up all the same.
  case noAnswer(mayHaveArrived: Bool)

  /// What a client's error comes to.
  package init(_ error: HTTPClientError) { self = .noAnswer(mayHaveArrived: error.requestWritten) }

  /// Whether asking the same again later may help.
  package var isRetryable: Bool {
    switch self {
    case .retryable, .noAnswer: true
    case .invalidGrant, .configuration, .suspect: false
    }
  }

  /// The refusal in an answer that is not 200.
  init(status: Int, fields: HTTPFields, body: [UInt8]) {
    let retryAfter = fields["retry-after"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? min($0, 86_400) : nil }
    guard (400..<500).contains(status), status != 408, status != 429,
      let node = try? JSONReader.read(body, maximumDepth: 8), let error = node["error"]?.string
    else {
      self = .retryable(status: status, retryAfter: retryAfter)
      return
    }
    let detail = node["error_description"]?.string.map { shown($0) }
    switch error {
    case "invalid_grant": self = .invalidGrant(detail: detail)
    case "invalid_request": self = .suspect(detail: detail)
    case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
      self = .configuration(error: error, detail: detail)
    default: self = .retryable(status: status, retryAfter: retryAfter)
    }
  }
}

extension AppleRefusal: CustomStringConvertible {
  /// One line for a log.
  package var description: String {
    func with(_ detail: String?) -> String { detail.map { ": \($0)" } ?? "" }
    return switch self {
    case .invalidGrant(let detail): "Apple says invalid_grant" + with(detail)
    case .configuration(let error, let detail): "Apple says \(error)" + with(detail)
    case .suspect(let detail): "Apple says invalid_request" + with(detail)
    case .retryable(let status, _): "Apple answered \(status) without saying more"
    case .noAnswer(let mayHaveArrived):
      mayHaveArrived ? "no answer of Apple's; the request may have arrived" : "Apple could not be reached"
    }
  }
}

/// Apple's answer to `/auth/token`. It has no description of its own: it is made of secrets.
package struct AppleTokens: Sendable, CustomStringConvertible, CustomReflectable {
  /// Holds for an hour.
  package let accessToken: String
  /// Has no expiry; a code brings one, a refresh does not.
  package let refreshToken: String?
  /// To be verified like any other.
  package let idToken: String?

  /// The type's name alone.
  package var description: String { "AppleTokens" }
  /// Nothing.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Reads Apple's answers.
package enum AppleAnswer {
  /// The most octets of an answer that are read.
  package static let maximumLength = 65_536
  /// The longest token that is taken, octets.
  static let maximumTokenLength = 4_096

  /// The tokens in an answer to an exchange or a validation.
  package static func tokens(
    status: Int, fields: HTTPFields, body: [UInt8]
  ) throws(AppleRefusal) -> AppleTokens {
    guard status == 200 else { throw AppleRefusal(status: status, fields: fields, body: body) }
    guard let node = try? JSONReader.read(body, maximumDepth: 8) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    let claims = Claims(node: node)
    guard let accessToken = claims.text("access_token", limit: maximumTokenLength) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    return AppleTokens(
      accessToken: accessToken, refreshToken: claims.text("refresh_token", limit: maximumTokenLength),
      idToken: claims.text("id_token", limit: AppleToken.maximumLength))
  }

  /// Returns if Apple took a revocation. Its body says nothing.
  package static func revocation(status: Int, fields: HTTPFields, body: [UInt8]) throws(AppleRefusal) {
    guard status == 200 else { throw AppleRefusal(status: status, fields: fields, body: body) }
  }

  /// Returns if Apple took the credentials of a probe: whom it knows it refuses the code alone.
  package static func probe(status: Int, fields: HTTPFields, body: [UInt8]) throws(AppleRefusal) {
    let refusal = AppleRefusal(status: status, fields: fields, body: body)
    if case .invalidGrant = refusal { return }
    throw refusal
  }

  /// Apple's keys: for ``AppleKeySet/fetched(_:now:)``.
  package static func keys(
    status: Int, fields: HTTPFields, body: [UInt8]
  ) throws(AppleRefusal) -> JWKSet {
    guard status == 200, let set = try? JWKSet(parsing: body), !set.rsa.isEmpty else {
      throw AppleRefusal(status: status, fields: fields, body: [])
    }
    return set
  }
}
