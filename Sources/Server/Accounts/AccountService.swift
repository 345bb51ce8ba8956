import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// What the accounts' routes share.
struct AccountService: Sendable {
  let environment: Environment
  let ports: AccountEnvironment
  let auth: Configuration.Auth
  let keys: SigningKeys
  let refreshSecrets: RefreshSecrets
  let bearers: BearerCheck
  let evidence: SessionEvidence
  let hooks: AccountHooks
  /// nil where Sign in with Apple is not configured.
  let apple: AppleSignIn?
  let metrics: Metrics
  let log: ApplicationLog

  init(
    _ environment: Environment, _ ports: AccountEnvironment, _ auth: Configuration.Auth,
    evidence: SessionEvidence, metrics: Metrics, log: ApplicationLog
  ) {
    self.environment = environment
    self.ports = ports
    self.auth = auth
    self.evidence = evidence
    self.metrics = metrics
    self.log = log
    hooks = AccountHooks(environment, metrics: metrics, log: log)
    apple = AppleSignIn(environment, ports, metrics: metrics, log: log)
    keys = SigningKeys(ports.signingKeys, auth)
    refreshSecrets = RefreshSecrets(
      ports.signingKeys, sealer: Sealer(auth.sealingKeys), random: environment.random)
    bearers = BearerCheck(
      issuer: environment.configuration.accountsIssuer, keys: keys, store: ports.store,
      persons: Persons(ports.signingKeys, random: environment.random))
  }

  /// nil where Sign in with Apple is not configured.
  var flows: WebFlows? { apple.map { WebFlows(service: self, apple: $0) } }

  /// nil where Sign in with Apple is not configured.
  var notifications: AppleNotifications? { apple.map { AppleNotifications(self, $0) } }

  /// Deletes accounts.
  var deletion: AccountDeletion {
    AccountDeletion(
      environment: environment, ports: ports, policy: auth.deletionPolicy, exchange: apple?.exchange,
      metrics: metrics, log: log)
  }

  var policy: SessionPolicy {
    SessionPolicy(
      lifetime: auth.sessionLifetime.map { $0 * 1000 }, inactivity: auth.sessionInactivity.map { $0 * 1000 })
  }

  /// A fresh version 4 UUID.
  func identifier() throws(Failure) -> UUID {
    guard let id = UUID(random: environment.random(16)) else {
      throw Failure(500, .internalError, "The server made a mistake.", diagnosis: "random octets")
    }
    return id
  }

  /// Has a step done that opens, renews or rotates a session, where hooks are asked before (RULES §3.9): it is tried,
  /// the hooks are asked of what it would come to, and it is done if it still comes to that. So a hook that fails
  /// leaves everything as it is.
  ///
  /// - Parameters:
  ///   - method: how the user came, for the hook.
  ///   - judge: asks whether the user may be, before anything else; nil where nobody is asked.
  ///   - step: called with what it is to come to.
  /// - Returns: what it came to, and what the hook said of it.
  func hooked<Outcome: SessionOutcome>(
    method: String, now: Int64, judge: ((OpenSession) async throws -> Void)? = nil,
    _ step: (StepExpectation) async throws -> Outcome
  ) async throws -> (Outcome, CustomClaims?) {
    guard hooks.concernsTokens || judge != nil else {
      return (try await storage { try await step(.anything) }, nil)
    }
    for _ in 0..<4 {
      let tried = try await storage { try await step(.trial) }
      guard let expected = tried.opened else { return (tried, nil) }
      try await judge?(expected)
      let custom = try await customClaims(expected, method: method, now: now)
      let outcome = try await storage { try await step(.session(expected)) }
      // Somebody else was faster: the hooks are asked once more, of how it is now.
      if !outcome.isChanged { return (outcome, custom) }
    }
    throw Failure.changing
  }

  /// What an access token is to say, once the hook was asked; nil where there is none.
  func customClaims(_ expected: OpenSession, method: String, now: Int64) async throws -> CustomClaims? {
    guard hooks.concernsTokens else { return nil }
    return try await hooks.customized(claims(expected, now: now), method: method)
  }

  private func claims(_ open: OpenSession, now: Int64) -> AccessTokenClaims {
    AccessTokenClaims(issuer: bearers.issuer, open, lifetime: auth.accessTokenLifetime, now: now)
  }

  /// The session with its tokens, as Supabase Auth writes one. `more` stands at its end.
  ///
  /// - Parameters:
  ///   - method: how the user came, for the hook.
  ///   - custom: what the hook said of the session as it was expected; where it is another, the hook is asked again.
  func answer(
    _ open: OpenSession, now: Int64, method: String = "oauth", custom: CustomClaims? = nil,
    more: [(String, JSONValue)] = []
  ) async throws -> HTTPResponse {
    let claims = claims(open, now: now)
    let json =
      if let custom, custom.claims.json == claims.json {
        custom.json
      } else {
        try await hooks.customized(claims, method: method).json
      }
    let refreshToken = try await refreshSecrets.current(of: open.session, now: now)
    let accessToken = try await keys.sign(json, now: now)
    return .json(
      .object(
        [
          ("access_token", .string(accessToken)), ("token_type", "bearer"),
          ("expires_in", .integer(auth.accessTokenLifetime)), ("expires_at", .integer(claims.expiresAt)),
          ("refresh_token", .string(refreshToken)), ("user", open.user.json),
        ] + more))
  }
}
