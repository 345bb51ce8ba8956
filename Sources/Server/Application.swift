import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// The parts of the application, made once and shared by its routes.
struct Application {
  let endpoints: [any Endpoint]
  /// Those of the operator's listener.
  let adminEndpoints: [any Endpoint]
  let jobs: [Job]
  let metrics: Metrics
  let log: ApplicationLog
  /// Every provider, by its name.
  let targets: [String: ProviderTarget]
  let events: EventJobs?

  init(_ environment: Environment) throws(TimeZoneError) {
    let configuration = environment.configuration
    let attest = configuration.attest
    let zone =
      configuration.timeZone == "UTC"
      ? TimeZoneRules.utc : try TimeZoneRules(name: configuration.timeZone, tzif: environment.zone)
    let configured = configuration.providers.compactMap { ProviderTarget($0) }
    let targets = Dictionary(
      configured.map { ($0.provider.name, $0) }, uniquingKeysWith: { first, _ in first })
    let providers = configured.flatMap { target in target.provider.paths.map { (target, $0) } }
    let queue = FalQueueRoutes(environment)
    let queuePaths = queue?.paths ?? []
    let metrics = Metrics(
      routes: [
        AttestTargets.challenge, AttestTargets.keys, AttestTargets.token, AttestTargets.quota,
        AttestTargets.probe, FunctionQuotaRoute.template, "/health",
        "/ready", "none",
      ]
        + AnthropicAttest.all
        + AccountRoutes.paths + AdminRoutes.paths + Set(providers.map { $0.path($1.path) }).sorted()
        + queuePaths + [FalProxyRoute.path] + StorageTargets.all + configuration.functions.map(\.path),
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
    let devices = AppleDevices(environment)
    let live = LiveReservations(environment.ledger)
    let hour: Int64 = 3_600_000_000_000
    var accounts: AccountService?
    if let auth = configuration.auth, let ports = environment.accounts {
      let evidence = SessionEvidence(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter)
      accounts = AccountService(environment, ports, auth, evidence: evidence, metrics: metrics, log: log)
    }

    let challengesPerMinute = {
      AddressLimiter(
        requests: attest.challengesPerMinute, per: hour / 60, siteFactor: configuration.ipv6SiteFactor)
    }
    let challengeLimiter = challengesPerMinute()
    let registrar = KeyRegistrar(
      environment: environment, keys: keys, check: RegistrationCheck(attest),
      deviceChecker: DeviceChecker(devices, attest, metrics: metrics, log: log), admitter: admitter,
      metrics: metrics, log: log)
    let registrations = {
      AddressLimiter(
        requests: attest.registrationsPerHour, per: hour, siteFactor: configuration.ipv6SiteFactor)
    }
    var endpoints: [any Endpoint] = [
      Health(), Ready(isReady: environment.isReady),
      ChallengeRoute(challenges: challenges, limiter: challengeLimiter, uptime: environment.uptime),
      KeysRoute(
        environment: environment, challenges: challenges, registrar: registrar, limiter: registrations()),
      ProbeRoute(
        proxies: configuration.trustedProxies,
        limiter: AddressLimiter(requests: 60, per: hour / 60, siteFactor: configuration.ipv6SiteFactor),
        uptime: environment.uptime, sleep: environment.sleep),
      QuotaRoute(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter),
      TokenRoute(
        environment: environment, challenges: challenges, verifier: verifier, admitter: admitter,
        routes: Set(providers.filter { $0.0.policy == .session }.map { $0.path($1.path) }).sorted()
          + (queue?.policy == .session ? queuePaths : [])
          + configuration.functions.filter { $0.policy == .session }.map(\.path),
        free: [FunctionQuotaRoute.template],
        bearers: accounts?.bearers),
    ]
    let gate = ProviderGate(
      environment: environment, challenges: challenges, verifier: verifier, admitter: admitter, live: live,
      bearers: accounts?.bearers)
    let anthropic = AnthropicAttest(
      environment, challenges: challenges,
      paths: providers.filter { $0.0.provider.name == "anthropic" }.map { $0.path($1.path) },
      free: [FunctionQuotaRoute.template])
    if let anthropic {
      endpoints += [
        AnthropicChallengeRoute(flow: anthropic, limiter: challengeLimiter),
        AnthropicRegisterRoute(flow: anthropic, registrar: registrar, limiter: registrations()),
        AnthropicTokenRoute(
          flow: anthropic, keys: keys, apps: verifier.apps, admitter: admitter, limiter: challengesPerMinute()
        ),
      ]
    }
    let runs = AnswerRuns()
    let idempotency = Idempotency(store: environment.answers, runs: runs, gate: gate)
    endpoints += providers.map {
      ProviderRoute(providerPath: $1, target: $0, gate: gate, idempotency: idempotency)
    }
    endpoints += configuration.functions.compactMap {
      FunctionRoute($0, gate: gate, idempotency: idempotency, configuration: configuration, targets: targets)
    }
    endpoints.append(FunctionQuotaRoute(gate: gate))
    let desk = queue?.desk(environment, metrics: metrics, log: log)
    if let queue, let desk {
      endpoints += queue.endpoints(
        gate, idempotency, desk, direct: endpoints.filter { $0.path.hasPrefix("/ai/fal/run/") })
    }
    if let accounts { endpoints += AccountRoutes(service: accounts).all }
    if let objects = ObjectRoutes(environment, accounts?.bearers) { endpoints += objects.all }
    self.endpoints = Self.demandingFreshness(endpoints, accounts)
    adminEndpoints = environment.accounts.map { AdminRoutes(accounts: $0).all } ?? []
    self.metrics = metrics
    self.log = log
    self.targets = targets
    let events = environment.events.map {
      EventJobs(environment: environment, outbox: $0, metrics: metrics, log: log)
    }
    self.events = events
    jobs =
      Jobs(
        environment: environment, challenges: challenges, live: live, owed: owed, runs: runs,
        metrics: metrics, log: log
      ).all + (desk.map { FalJobs(desk: $0).all } ?? [])
      + (accounts.map { AccountJobs(service: $0).all } ?? []) + (events?.all ?? [])
      + (devices.map { DeviceJobs(apple: $0, attest: attest, metrics: metrics, log: log).all } ?? [])
  }
}
