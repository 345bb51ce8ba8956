import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// The parts of the application, made once and shared by its routes.
struct Application {
  let endpoints: [any Endpoint]
  let jobs: [Job]
  let metrics: Metrics
  let log: ApplicationLog

  init(_ environment: Environment) throws(TimeZoneError) {
    let configuration = environment.configuration
    let attest = configuration.attest
    let zone =
      configuration.timeZone == "UTC"
      ? TimeZoneRules.utc : try TimeZoneRules(name: configuration.timeZone, tzif: environment.zone)
    let providers = Self.providerPaths(configuration)
    let metrics = Metrics(
      routes: [
        AttestTargets.challenge, AttestTargets.keys, AttestTargets.token, AttestTargets.quota,
        AttestTargets.probe, "/health",
        "/ready", "none",
      ]
        + AccountRoutes.paths + providers.map(\.route),
      droppedLogLines: environment.droppedLogLines)
    let log = ApplicationLog(environment)
    let challenges = ChallengeKeys(environment)
    let keys = KeyCache(environment.keys)
    let verifier = EvidenceVerifier(
      configuration, challenges: challenges, keys: keys, ledger: environment.ledger)
    let owed = OwedSettlements(environment.ledger)
    let admitter = Admitter(
      environment: environment, plan: ChargePlan(configuration: configuration, zone: zone),
      expectation: attest.expectation, keys: keys, owed: owed, metrics: metrics, log: log)
    let live = LiveReservations(environment.ledger)
    let health = ProviderHealth()
    let hour: Int64 = 3_600_000_000_000
    var accounts: AccountService?
    if let auth = configuration.auth, let ports = environment.accounts {
      let evidence = SessionEvidence(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter)
      accounts = AccountService(environment, ports, auth, evidence: evidence, metrics: metrics, log: log)
    }

    var endpoints: [any Endpoint] = [
      Health(), Ready(isReady: environment.isReady),
      ChallengeRoute(
        challenges: challenges,
        limiter: AddressLimiter(
          requests: attest.challengesPerMinute, per: hour / 60, siteFactor: configuration.ipv6SiteFactor),
        uptime: environment.uptime),
      KeysRoute(
        environment: environment, challenges: challenges, keys: keys, check: RegistrationCheck(attest),
        limiter: AddressLimiter(
          requests: attest.registrationsPerHour, per: hour, siteFactor: configuration.ipv6SiteFactor),
        metrics: metrics, log: log),
      ProbeRoute(
        proxies: configuration.trustedProxies,
        limiter: AddressLimiter(requests: 60, per: hour / 60, siteFactor: configuration.ipv6SiteFactor),
        uptime: environment.uptime, sleep: environment.sleep),
      QuotaRoute(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter),
      TokenRoute(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter,
        routes: configuration.anthropic?.policy == .session ? providers.map(\.route) : [],
        bearers: accounts?.bearers),
    ]
    if let target = configuration.anthropic.flatMap({ ProviderTarget($0) }) {
      let gate = ProviderGate(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter, live: live,
        bearers: accounts?.bearers)
      for paths in providers {
        endpoints.append(
          ProviderRoute(
            path: paths.route, providerPath: paths.provider, target: target, gate: gate, health: health))
      }
    }
    if let accounts { endpoints += AccountRoutes(service: accounts).all }
    self.endpoints = endpoints
    self.metrics = metrics
    self.log = log
    jobs =
      Jobs(
        environment: environment, challenges: challenges, live: live, owed: owed, metrics: metrics, log: log
      ).all + (accounts.map { AccountJobs(service: $0).all } ?? [])
  }

  /// The routes of providers, each with its path there.
  private static func providerPaths(_ configuration: Configuration) -> [(route: String, provider: String)] {
    guard configuration.anthropic != nil else { return [] }
    return ["/v1/messages", "/v1/messages/count_tokens"].map { ("/ai/anthropic" + $0, $0) }
  }
}
