import HTTPMessages

/// The status line and header fields of a response, as octets.
struct ResponseHead {
  /// How the content is delimited (RFC 9112 §6.3).
  enum Framing: Equatable {
    /// There is none, and nothing is said of a length.
    case none
    /// So many octets.
    case length(Int)
    /// Chunked.
    case chunked
    /// All octets until the connection ends: for HTTP/1.0.
    case untilClose
  }

  /// A handler's response that cannot be sent as it is.
  enum Flaw: Error, Equatable {
    case status(Int)
    /// A name that is no token.
    case fieldName
    /// A value with CR, LF, NUL or another control character: it could end the head and begin another.
    case fieldValue
  }

  let framing: Framing
  let hasContent: Bool
  private(set) var octets: [UInt8] = []

  /// What is sent for this response to such a request.
  init(
    _ response: HTTPResponse, toHead: Bool, isOldVersion: Bool, closes: Bool, date: [UInt8]
  ) throws(Flaw) {
    guard (200...599).contains(response.status) else { throw .status(response.status) }
    let mayHaveContent = response.status != 204 && response.status != 304
    hasContent = mayHaveContent && !toHead
    var framing: Framing =
      if !mayHaveContent {
        .none
      } else if let length = response.body.length {
        .length(length)
      } else {
        isOldVersion ? .untilClose : .chunked
      }
    // An answer to HEAD may know the length of what it leaves out.
    if toHead, framing == .length(0), let length = response.fields["Content-Length"].flatMap({ Int($0) }) {
      framing = .length(max(0, length))
    }
    self.framing = framing

    octets.reserveCapacity(512)
    octets.append(contentsOf: "HTTP/1.1 ".utf8)
    appendNumber(response.status)
    octets.append(0x20)
    octets.append(contentsOf: Self.phrase(response.status).utf8)
    appendLineEnd()
    octets.append(contentsOf: date)
    for field in response.fields.lines where !Self.isFraming(field.name) {
      try append(field)
    }
    switch framing {
    case .length(let length):
      octets.append(contentsOf: "Content-Length: ".utf8)
      appendNumber(length)
      appendLineEnd()
    case .chunked: octets.append(contentsOf: "Transfer-Encoding: chunked\r\n".utf8)
    case .none, .untilClose: break
    }
    if closes { octets.append(contentsOf: "Connection: close\r\n".utf8) }
    appendLineEnd()
  }

  /// The head with octets of content behind it.
  consuming func with(_ content: [UInt8]) -> [UInt8] {
    octets.append(contentsOf: content)
    return octets
  }

  private mutating func append(_ field: HTTPFields.Field) throws(Flaw) {
    let start = octets.count
    octets.append(contentsOf: field.name.utf8)
    let colon = octets.count
    octets.append(0x3A)
    octets.append(0x20)
    octets.append(contentsOf: field.value.utf8)
    guard colon > start else { throw .fieldName }
    for byte in octets[start..<colon] where !RequestTarget.isToken(byte) { throw .fieldName }
    for byte in octets[colon...] where byte < 0x20 && byte != 0x09 || byte == 0x7F { throw .fieldValue }
    appendLineEnd()
  }

  private mutating func appendLineEnd() {
    octets.append(0x0D)
    octets.append(0x0A)
  }

  private mutating func appendNumber(_ number: Int) { octets.append(contentsOf: String(number).utf8) }

  /// Fields that are the server's own.
  private static func isFraming(_ name: String) -> Bool {
    switch name.utf8.count {
    case 4: HTTPFields.same(name, "Date")
    case 7: HTTPFields.same(name, "Upgrade") || HTTPFields.same(name, "Trailer")
    case 10: HTTPFields.same(name, "Connection") || HTTPFields.same(name, "Keep-Alive")
    case 14: HTTPFields.same(name, "Content-Length")
    case 17: HTTPFields.same(name, "Transfer-Encoding")
    default: false
    }
  }

  /// The reason phrase (RFC 9110 §15); empty for a code that is not known here.
  static func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 402: "Payment Required"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 422: "Unprocessable Content"
    case 424: "Failed Dependency"
    case 425: "Too Early"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    default: ""
    }
  }
}

extension HTTPResponse {
  /// What the server itself answers: a problem document (RFC 9457) with the code and message that every error
  /// of Bramley has.
  static func problem(_ status: Int, _ message: String) -> HTTPResponse {
    let title = ResponseHead.phrase(status)
    let code = String(title.lowercased().map { $0 == " " ? "_" : $0 })
    let text =
      #"{"type":"about:blank","title":"\#(title)","status":\#(status),"code":"\#(code)","message":"\#(message)"}"#
    return HTTPResponse(
      status: status, fields: ["Content-Type": "application/problem+json", "Cache-Control": "no-store"],
      body: HTTPBody(text))
  }
}
