import Accounts
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// Sign in with Apple as this server's configuration has it.
struct AppleSignIn: Sendable {
  /// With what our challenges begin, so that they are told from a client's own nonce.
  static let challengePrefix = "brm_"
  /// Milliseconds that a challenge holds.
  static let challengeLife: Int64 = 600_000

  let apple: Configuration.Auth.Apple
  let verifier: IdentityTokenVerifier
  let keys: AppleKeys
  let exchange: AppleExchange

  init?(_ environment: Environment, _ ports: AccountEnvironment, metrics: Metrics, log: ApplicationLog) {
    guard let auth = environment.configuration.auth, let apple = auth.apple else { return nil }
    self.apple = apple
    verifier = IdentityTokenVerifier(clients: apple.clients, issuers: apple.issuers)
    keys = AppleKeys(environment, ports, log: log)
    let key = apple.privateKey.flatMap { try? ApplePrivateKey.read($0.value) }
    exchange = AppleExchange(
      environment: environment, ports: ports, sealer: Sealer(auth.sealingKeys),
      key: key.flatMap { key in
        apple.keyID.map { AppleSigningKey(teamID: apple.teamID, keyID: $0, key: key) }
      }, verifier: verifier, keys: keys, metrics: metrics, log: log)
  }

  /// A fresh challenge of 32 random octets.
  static func challenge(random: [UInt8]) -> String { challengePrefix + Base64.encodeURL(random) }

  /// Which rule the nonce of a request falls under, and the hash of our challenge, if it is one.
  func rule(_ nonce: String?) -> (rule: NonceRule, challenge: [UInt8]?) {
    guard let nonce else { return (.absent, nil) }
    guard nonce.hasPrefix(Self.challengePrefix) else { return (.clientNonce(nonce), nil) }
    return (.challenge(nonce), SHA256.hash(nonce))
  }

  /// Who the identity token is about; throws a ``Failure``. `now` in milliseconds.
  func verify(_ text: String, nonce: NonceRule, code: String?, now: Int64) async throws -> AppleIdentity {
    do {
      let token = try AppleToken(parsing: text)
      return try verifier.verify(
        token, key: try await keys.key(token.kid), nonce: nonce, code: code, now: now / 1000)
    } catch let error as AppleTokenError {
      throw Failure.identityToken(error)
    }
  }
}

extension IdentityAssertion {
  /// What the token says, in the accounts' words.
  init(
    _ identity: AppleIdentity, fullName: AppleFullName?, requestHash: [UInt8], challengeHash: [UInt8]?
  ) {
    self.init(
      teamID: identity.teamID, subject: identity.subject, transferSubject: identity.transferSubject,
      clientID: identity.clientID, issuer: identity.issuer, issuedAt: identity.issuedAt * 1000,
      expiresAt: identity.expiresAt * 1000, authTime: identity.authTime.map { $0 * 1000 },
      email: identity.email?.lowercased(), isEmailVerified: identity.isEmailVerified,
      isPrivateEmail: identity.isPrivateEmail,
      fullName: fullName.map { PersonName(given: $0.given, family: $0.family) },
      tokenHash: identity.tokenHash, requestHash: requestHash, challengeHash: challengeHash)
  }
}
