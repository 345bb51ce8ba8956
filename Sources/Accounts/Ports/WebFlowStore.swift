package import Encodings

/// Sign in with Apple in a browser: the state between `authorize`, Apple's form post and `grant_type=pkce`. Each
/// method is one atomic step. Times are milliseconds since 1970.
package protocol WebFlowStore: Sendable {
  /// Keeps a flow that begins.
  func begin(_ flow: WebFlow) async throws
  /// The flow of a state, once: it is marked as answered. nil for an unknown, answered or expired one.
  func answer(_ stateHash: [UInt8], now: Int64) async throws -> WebFlow?
  /// Stores the verified identity under a one-use code; no account is changed yet (RULES §3.1).
  func complete(_ flow: UUID, with assertion: IdentityAssertion, codeHash: [UInt8], expiresAt: Int64)
    async throws
  /// Takes the code, once: the flow and its identity. The same code with the same request within two minutes
  /// gives them again (RULES §3.6); a wrong verifier is the caller's to judge before `consume`.
  func peek(_ codeHash: [UInt8], now: Int64) async throws -> (flow: WebFlow, assertion: IdentityAssertion)?
}

/// A flow in a browser.
package struct WebFlow: Sendable, Equatable {
  package var id: UUID
  /// SHA-256 of the `state` that Apple hands back.
  package var stateHash: [UInt8]
  /// SHA-256 of the cookie that binds it to the browser.
  package var browserHash: [UInt8]?
  /// The nonce that the identity token is to carry.
  package var nonce: String
  package var clientID: String
  package var redirectTo: String
  /// `code_challenge` and whether it is S256; nil for the implicit flow.
  package var codeChallenge: String?
  package var isS256: Bool
  /// The session that links; nil for a sign-in.
  package var linking: UUID?
  package var expiresAt: Int64

  package init(
    id: UUID, stateHash: [UInt8], browserHash: [UInt8]? = nil, nonce: String, clientID: String,
    redirectTo: String, codeChallenge: String?, isS256: Bool, linking: UUID? = nil, expiresAt: Int64
  ) {
    self.id = id
    self.stateHash = stateHash
    self.browserHash = browserHash
    self.nonce = nonce
    self.clientID = clientID
    self.redirectTo = redirectTo
    self.codeChallenge = codeChallenge
    self.isS256 = isS256
    self.linking = linking
    self.expiresAt = expiresAt
  }
}
