import HTTPMessages

/// A request that is fit to be sent, in the form that libcurl takes it.
struct OutgoingRequest: Sendable {
  /// How libcurl is to treat the method.
  enum Form {
    /// No body.
    case plain
    /// No body in the response.
    case head
    /// A body, perhaps of length 0.
    case upload
  }

  let method: String
  let form: Form
  /// Scheme and authority; the target is given apart, so that it goes out octet by octet as it is.
  let url: String
  let authority: String
  let target: String
  /// Field lines in libcurl's form.
  let lines: [String]
  let body: HTTPBody
  /// Whether it may go out a second time over a new connection when a kept one proves dead: of an idempotent
  /// method (RFC 9110 §9.2.2) and without a body.
  let isRepeatable: Bool

  init(_ request: HTTPRequest) throws(HTTPClientError) {
    method = request.method.rawValue
    guard Self.isToken(method), method != "CONNECT", method != "TRACE" else {
      throw .invalidRequest(.method)
    }
    guard request.scheme == "http" || request.scheme == "https" else { throw .invalidRequest(.scheme) }
    authority = request.authority
    guard Self.isAuthority(authority) else { throw .invalidRequest(.authority) }
    target = request.target
    // `#` begins a fragment, which is never sent.
    let isTarget = target.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") }
    guard target.utf8.first == UInt8(ascii: "/"), isTarget else { throw .invalidRequest(.target) }
    url = "\(request.scheme)://\(authority)/"
    body = request.body
    let isEmpty = if case .bytes(let bytes) = body.content { bytes.isEmpty } else { false }
    if method == "HEAD" {
      form = .head
    } else if isEmpty && !["POST", "PUT", "PATCH"].contains(method) {
      form = .plain
    } else {
      form = .upload
    }
    isRepeatable = form != .upload && ["GET", "HEAD", "DELETE", "OPTIONS"].contains(method)
    lines = try Self.lines(of: request.fields, upload: form == .upload, hasLength: body.length != nil)
  }

  /// What the client decides itself, and what concerns one connection alone (RFC 9110 §7.6.1).
  private static let framing = [
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection",
    "proxy-authorization", "te", "trailer", "upgrade", "expect",
  ]

  private static func lines(
    of fields: HTTPFields, upload: Bool, hasLength: Bool
  ) throws(HTTPClientError) -> [String] {
    var lines: [String] = []
    for field in fields.lines {
      guard isToken(field.name), isValue(field.value) else { throw .invalidRequest(.field(field.name)) }
      if framing.contains(where: { HTTPFields.same($0, field.name) }) { continue }
      // A name with nothing after its colon would take a field away; the semicolon sends it empty.
      lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    // libcurl adds these of its own accord.
    if fields["accept"] == nil { lines.append("Accept:") }
    if fields["content-type"] == nil { lines.append("Content-Type:") }
    lines.append("Expect:")
    if upload && !hasLength { lines.append("Transfer-Encoding: chunked") }
    return lines
  }

  /// RFC 9110 §5.6.2.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: byte == UInt8(ascii: "-") || "!#$%&'*+.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// RFC 9110 §5.5: no control characters but the tab.
  private static func isValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }

  /// A host in ASCII, an IPv4 address or a bracketed IPv6 address, and perhaps a port; no user, no percent.
  private static func isAuthority(_ text: String) -> Bool {
    var host = Substring(text)
    if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
      host = text[..<colon]
      let port = text[text.index(after: colon)...]
      let isNumber = port.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      guard isNumber, let number = UInt16(port), number > 0 else { return false }
    }
    if host.first == "[" {
      guard host.last == "]" else { return false }
      let address = host.dropFirst().dropLast().utf8
      return !address.isEmpty && address.allSatisfy { isHexOrColon($0) }
    }
    return !host.isEmpty && host.utf8.count <= 253
      && host.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  private static func isHexOrColon(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
