package import Encodings

/// Sign in with Apple in a browser: the state between `authorize`, Apple's form post and `grant_type=pkce`. Each
/// method is one atomic step. Times are milliseconds since 1970.
package protocol WebFlowStore: Sendable {
  /// Keeps a flow that begins.
  func begin(_ flow: WebFlow) async throws
  /// The flow of a state, once: it is marked as answered. nil for an unknown, answered or expired one.
  func answer(_ stateHash: [UInt8], now: Int64) async throws -> WebFlow?
  /// Stores the verified identity under a one-use code, and with it the refresh token that Apple's code was
  /// exchanged for; no account is changed yet (RULES §3.1).
  func complete(
    _ flow: UUID, with assertion: IdentityAssertion, token: SealedAppleToken?, codeHash: [UInt8],
    expiresAt: Int64) async throws
  /// The flow of a code with its identity; nil for an unknown one. A wrong verifier and a code that came too late
  /// are the caller's to judge. That the identity is used once, the sign-in with it sees to (RULES §3.6).
  func peek(_ codeHash: [UInt8]) async throws -> CompletedFlow?
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

  /// Whether its code, or before there is one its state, holds no longer.
  package func isExpired(at now: Int64) -> Bool { expiresAt <= now }
}

/// A flow that Apple answered.
package struct CompletedFlow: Sendable, Equatable {
  package var flow: WebFlow
  package var assertion: IdentityAssertion
  package var token: SealedAppleToken?

  package init(flow: WebFlow, assertion: IdentityAssertion, token: SealedAppleToken? = nil) {
    self.flow = flow
    self.assertion = assertion
    self.token = token
  }
}
