import BramleyAPI
import Encodings
import HTTPMessages

/// The evidence that a request comes with, as its header fields say it; nothing of it is believed yet.
enum PresentedEvidence: Sendable, Equatable {
  case none
  case assertion(keyID: [UInt8], assertion: [UInt8], challenge: String)
  /// An attested session token, `bat_…`.
  case session(String)
  /// A debug token, `bdt_…`.
  case debugToken(String)

  /// Reads the fields. Each may stand there once, and only one kind of evidence may: what two readers could
  /// read differently is refused.
  init(_ fields: HTTPFields) throws(Failure) {
    let authorization = try Self.single("authorization", fields)
    var tokens: [String] = []
    if let authorization, let token = Self.bearer(authorization) { tokens.append(token) }
    if let key = try Self.single("x-api-key", fields), Self.isToken(key) { tokens.append(key) }
    if let token = try Self.single(AttestFields.session, fields) {
      guard Self.isToken(token) else { throw .invalidSession }
      tokens.append(token)
    }
    let assertion = try Self(assertionIn: fields)
    if assertion != nil, tokens.count > 0 { throw .invalidRequest("A request carries one kind of evidence.") }
    if tokens.count > 1 { throw .invalidRequest("A request carries one token.") }
    if let token = tokens.first {
      self = token.hasPrefix(Token.sessionPrefix) ? .session(token) : .debugToken(token)
    } else {
      self = assertion ?? .none
    }
  }

  /// Reads the assertion alone, whatever other credential the request carries; nil where there is none.
  init?(assertionIn fields: HTTPFields) throws(Failure) {
    let keyID = try Self.single(AttestFields.keyID, fields)
    let assertion = try Self.single(AttestFields.assertion, fields)
    let challenge = try Self.single(AttestFields.challenge, fields)
    if keyID == nil, assertion == nil, challenge == nil { return nil }
    guard let keyID, let assertion, let challenge else {
      throw .invalidRequest(
        "\(AttestFields.keyID), \(AttestFields.assertion) and \(AttestFields.challenge) belong together.")
    }
    guard keyID.utf8.count <= 64, let keyID = Base64.decode(keyID), keyID.count == 32 else {
      throw .invalidRequest("\(AttestFields.keyID) is 32 octets in base64.")
    }
    guard assertion.utf8.count <= 6_000, let assertion = Base64.decode(assertion) else {
      throw .invalidAssertion
    }
    self = .assertion(keyID: keyID, assertion: assertion, challenge: challenge)
  }

  private static func single(_ name: String, _ fields: HTTPFields) throws(Failure) -> String? {
    let values = fields.values(name)
    guard values.count <= 1 else { throw .invalidRequest("\(name) may stand in a request once.") }
    return values.first
  }

  private static func isToken(_ text: String) -> Bool {
    text.hasPrefix(Token.sessionPrefix) || text.hasPrefix(Token.debugPrefix)
  }

  /// The token of ours in an Authorization value; nil for any other credential. fal's clients call their keys `Key`.
  private static func bearer(_ value: String) -> String? {
    guard let blank = value.firstIndex(of: " "),
      ["bearer", "key"].contains(where: { HTTPFields.same(String(value[..<blank]), $0) })
    else { return nil }
    let token = String(value[blank...].drop { $0 == " " })
    return isToken(token) ? token : nil
  }
}
