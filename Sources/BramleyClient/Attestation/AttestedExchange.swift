import BramleyAPI
import HTTPMessages

/// A request made ready to be signed, perhaps more than once: its body in memory, its parts hashed.
struct AttestedExchange: Sendable {
  /// What the assertion is for.
  enum Tag: Sendable {
    case request
    case tokenExchange
  }

  /// Without evidence; its target is below the base URL.
  let request: HTTPRequest
  private let authorizationHash: [UInt8]
  private let bodyHash: [UInt8]

  /// As much as Anthropic takes, octets.
  private static let limit = 32 << 20

  init(_ request: HTTPRequest, hash: ([UInt8]) -> [UInt8]) async throws {
    let authorization = request.fields.values("authorization")
    guard request.target.hasPrefix("/"), !request.target.contains("\n"), authorization.count <= 1 else {
      throw BramleyError(.unattestableRequest)
    }
    let body = try await request.body.collect(upTo: Self.limit)
    var request = request
    request.body = HTTPBody(body)
    for name in [AttestFields.keyID, AttestFields.assertion, AttestFields.challenge, AttestFields.session] {
      request.fields.remove(name)
    }
    self.request = request
    authorizationHash = hash(Array((authorization.first ?? "").utf8))
    bodyHash = hash(body)
  }

  /// The bytes whose hash is signed (RULES §1.1).
  func signedBytes(_ tag: Tag, audience: String, challenge: SignableChallenge) -> [UInt8] {
    switch tag {
    case .request:
      SignedBytes.request(
        audience: audience, challenge: challenge.bytes, method: request.method.rawValue,
        target: request.target, authorizationHash: authorizationHash, bodyHash: bodyHash)
    case .tokenExchange:
      SignedBytes.tokenExchange(
        audience: audience, challenge: challenge.bytes, method: request.method.rawValue,
        target: request.target, authorizationHash: authorizationHash, bodyHash: bodyHash)
    }
  }
}
