import Cryptography

/// What the simulated Apple remembers. Times are seconds since 1970.
struct AppleIDLedger: Sendable {
  /// What a user agreed to, for all clients of a team.
  struct Consent: Sendable {
    var subject: String
    /// False after a revocation; the subject stays the same.
    var isLive = true
    var sharesEmail = false
    /// The relay address; nil for a user who shows the real one.
    var relay: String?
    /// Whether mail to the relay address is forwarded.
    var forwards = true
  }

  /// Whose consent it is.
  struct ConsentKey: Sendable, Hashable {
    var teamID: String
    var email: String
  }

  /// A code that was given out.
  struct Code: Sendable {
    var client: String
    var consent: ConsentKey
    /// Of the authorization; nil on a device.
    var redirectURI: String?
    var nonce: String?
    var issuedAt: Int64
    var isUsed = false
  }

  /// An access or refresh token that was given out.
  struct Token: Sendable {
    var client: String
    var consent: ConsentKey
    var isRefresh: Bool
    var issuedAt: Int64
    var authTime: Int64
    var nonce: String?
    var validatedAt: Int64?
  }

  /// A key of a team for client secrets.
  struct TeamKey: Sendable {
    var teamID: String
    var keyID: String
    var key: P256.PrivateKey
  }

  /// A client that changed its team.
  struct Transfer: Sendable {
    var client: String
    var from: String
    var to: String
    var acceptedAt: Int64
  }

  var accounts: [SimulatedAccount] = []
  var consents: [ConsentKey: Consent] = [:]
  var codes: [String: Code] = [:]
  var tokens: [String: Token] = [:]
  var teamKeys: [TeamKey] = []
  var transfers: [Transfer] = []
  /// Users by their transfer identifiers, with the team that each was made for.
  var transferIdentifiers: [String: (ConsentKey, String)] = [:]
  /// Access tokens for `user.migration` after the team that has them, and until when they hold.
  var migrationTokens: [String: Int64] = [:]

  /// Ends a consent and every token under it; the relay address is another one next time.
  mutating func revoke(_ key: ConsentKey) {
    consents[key]?.isLive = false
    consents[key]?.relay = nil
    tokens = tokens.filter { $0.value.consent != key }
    codes = codes.filter { $0.value.consent != key }
  }
}
