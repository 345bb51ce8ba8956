import Accounts
import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyClient
import BramleyTesting
import Cryptography
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Synchronization
import UserData

@testable import Server

/// The whole of Bramley in memory: the real handler over a real database, simulated devices in front of it and
/// a simulated Anthropic behind it.
final class WholeServer: Sendable {
  static let audience = "https://api.example.com"
  static let app = SimulatedApp(id: "ABCDE12345.com.example.app", distribution: .appStore)
  static let apiKey = "sk-ant-simulated-key-0123456789"
  static let falKey = "simulated-id:simulated-secret-0123456789"

  let clock: FixedClock
  let authority: SimulatedAppleCA
  let anthropic: SimulatedAnthropic
  /// At `api.openai.com`, where it is configured.
  let openAI: SimulatedOpenAI
  let fal: SimulatedFal
  let database: Database
  let ledger: SQLAdmissionLedger
  let keys: SQLDeviceKeyStore
  let debugTokens: SQLDebugTokenStore
  /// Apple's services for devices.
  let devices: SimulatedDeviceServices
  let teamKey: SimulatedTeamKey
  /// What the server asked them.
  let deviceRequests = Recorder<HTTPRequest>()
  let lines = Recorder<String>()
  let upstreamRequests = Recorder<HTTPRequest>()
  let background = BackgroundWork()
  let offloaded = CountedWork()
  let server: Server
  private let ownsDatabase: Bool

  /// - Parameters:
  ///   - upstream: what stands in the providers' place; where it answers nothing, the simulated ones.
  ///   - apple: what stands in Apple's place; nil for nobody.
  ///   - outside: who answers webhooks, hooks and fetches; nil for nobody.
  ///   - owned: what capabilities keep for users.
  ///   - objects: what stands in the place of users' objects in the database.
  ///   - devices: what stands in the place of Apple's services for devices; nil for the simulated ones.
  ///   - teamKey: the key that those take.
  ///   - broken: the ledger answers nothing.
  ///   - sleep: how it waits; without one it does not.
  ///   - other: another node over the same database.
  ///   - location: its database; nil is one in memory.
  init(
    _ change: (inout Configuration) -> Void = { _ in },
    upstream: (@Sendable (HTTPRequest) async throws -> HTTPResponse?)? = nil,
    apple: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    outside: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    owned: [any OwnedData] = [], objects: (any ObjectStore)? = nil,
    devices: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    teamKey: SimulatedTeamKey? = nil, broken: Bool = false,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in }, sharing other: WholeServer? = nil,
    on location: DatabaseLocation? = nil
  ) async throws {
    let clock = other?.clock ?? FixedClock(seconds: 1_796_040_000)
    self.clock = clock
    authority = try other?.authority ?? SimulatedAppleCA(now: clock.seconds)
    let anthropic = SimulatedAnthropic(
      apiKey: Self.apiKey, now: { clock.seconds },
      sleep: { try await Task.sleep(for: min($0, .milliseconds(20))) })
    self.anthropic = anthropic
    let fal = SimulatedFal(
      apiKey: Self.falKey, sleep: { try await Task.sleep(for: min($0, .milliseconds(20))) })
    self.fal = fal
    let openAI = SimulatedOpenAI(
      apiKey: OpenAIServer.key, now: { clock.seconds },
      sleep: { try await Task.sleep(for: min($0, .milliseconds(20))) })
    self.openAI = openAI
    if let other { database = other.database } else { database = try Database(location ?? .memory) }
    try await Schema.migrate(database, now: clock.now)
    ledger = other?.ledger ?? SQLAdmissionLedger(database)
    ownsDatabase = other == nil
    keys = SQLDeviceKeyStore(database)
    debugTokens = SQLDebugTokenStore(database)

    let teamKey = try teamKey ?? SimulatedTeamKey(team: "TEAM123456")
    self.teamKey = teamKey
    let simulatedDevices = try SimulatedDeviceServices(
      authority: authority, team: teamKey, now: { clock.seconds })
    self.devices = simulatedDevices

    var configuration = Configuration()
    configuration.deployment = .production
    configuration.attest.audiences = [Self.audience, "https://eu.example.com/base"]
    configuration.attest.apps = [.init(appID: Self.app.id, environments: [.production])]
    configuration.attest.simulatorRoot = .init(certificate: authority.root)
    var provider = Configuration.Anthropic(apiKey: Secret(Self.apiKey))
    provider.models = ["claude-haiku-4-5", "claude-sonnet-5-5"]
    provider.aliases = ["fast": "claude-haiku-4-5"]
    provider.policy = .session
    configuration.anthropic = provider
    var picture = Configuration.Fal(apiKey: Secret(Self.falKey))
    picture.models = [Configuration.Fal.exampleModel]
    picture.policy = .session
    configuration.fal = picture
    configuration.burst = .init(requests: 1000, seconds: 1)
    configuration.inFlight = 200
    configuration.budgets = [.init(name: "money", subject: .key, limit: 1_000_000_000_000)]
    change(&configuration)

    let (lines, background, upstreamRequests) = (lines, background, upstreamRequests)
    let (deviceRequests, offloaded) = (deviceRequests, offloaded)
    let objects = objects ?? SQLObjectStore(database)
    server = try Server(
      Environment(
        configuration: configuration, now: { clock.now }, uptime: { clock.now * 1_000_000 },
        random: { SecureRandom.bytes($0) }, background: { background.run($0) }, offload: offloaded,
        sleep: sleep,
        log: { lines.append($0) }, zone: [], keys: keys,
        tokenMints: SQLTokenMintStore(database), ledger: broken ? BrokenStore() : ledger,
        debugTokens: debugTokens,
        queuedCalls: SQLQueuedCallStore(database),
        devices: DeviceEnvironment(
          store: SQLReceiptStore(database),
          apple: Handler { request in
            deviceRequests.append(request)
            if let devices { return try await devices(request) }
            return try await simulatedDevices.respond(to: request)
          }, services: AppleServices(below: .init(authority: "apple.example"))),
        answers: SQLKeptAnswerStore(database),
        accounts: AccountEnvironment(
          store: SQLAccountStore(database), users: SQLUserStore(database),
          signingKeys: SQLSigningKeyStore(database), appleTokens: SQLAppleTokenStore(database),
          appleEvents: SQLAppleEventStore(database),
          webFlows: SQLWebFlowStore(database), adminKeys: SQLAdminKeyStore(database),
          audit: SQLAuditStore(database), deletions: SQLDeletionStore(database),
          owned: owned + [OwnedObjects(objects)],
          apple: Handler { request in
            guard let apple else { throw HTTPClientError.connect }
            return try await apple(request)
          }), objects: objects, isReady: { true },
        upstream: Handler { request in
          upstreamRequests.append(request)
          if let response = try await upstream?(request) { return response }
          if SimulatedFal.Hosts().contains(request.authority) { return try await fal.respond(to: request) }
          if request.authority == "api.openai.com" { return try await openAI.respond(to: request) }
          return try await anthropic.respond(to: request)
        },
        outside: OutsideNetwork(
          Handler { request in
            guard let outside else { throw HTTPClientError.connect }
            return try await outside(request)
          }),
        events: SQLEventOutbox(database)))
    try await server.prepare()
  }

  deinit { if ownsDatabase { database.close() } }

  /// Sends to the public listener.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    try await server.handler.respond(to: request)
  }

  /// A challenge for the purpose.
  func challenge(_ purpose: String = "request") async throws -> String {
    let response = try await send(
      HTTPRequest(method: .get, target: "/attest/v1/challenge?purpose=\(purpose)", peer: "192.0.2.9"))
    return try await response.json["challenges"]?.elements?.first?["challenge"]?.string ?? "none"
  }

  /// A phone that is registered.
  func phone(app: SimulatedApp = WholeServer.app) async throws -> Phone {
    let phone = try await Phone(self, app: app)
    _ = try await phone.register()
    return phone
  }

  /// The SDK on a new phone.
  func client(_ change: (inout BramleyClient.Options) -> Void = { _ in }) throws -> BramleyClient {
    let clock = clock
    var options = BramleyClient.Options()
    change(&options)
    let device = try SimulatedDevice(authority: authority, app: Self.app, now: { clock.seconds })
    let server = server
    return try BramleyClient(
      baseURL: Self.audience,
      transport: Handler { request in
        var request = request
        request.peer = "192.0.2.7"
        return try await server.handler.respond(to: request)
      }, attestation: device, storage: InMemoryKeyIDStorage(), options: options, now: { clock.seconds })
  }

  /// What the ledger has booked, once all that runs in the background is done.
  func usage() async throws -> [UsageRecord] {
    await background.drain()
    return try await SQLUsageReport(database).usage(from: 0, to: .max, limit: 1000)
  }

  /// What is left for a key under a rule, counts and money.
  func remaining(_ phone: Phone, _ rule: String) async throws -> Int64? {
    await background.drain()
    let plan = ChargePlan(configuration: server.configuration, zone: .utc)
    let charges = plan.charges(
      .paid(
        PaidCall(provider: "anthropic", model: "", bound: CallAmounts())),
      evidence: .assertion(keyID: phone.key, counter: 1, challenge: nil), address: "x",
      now: clock.now)
    return try await ledger.remaining(keyID: phone.key, charges: charges, now: clock.now)
      .first { $0.rule == rule }?.remaining
  }
}

/// Does what the server wants done away from its loops, and counts it.
final class CountedWork: Offload {
  let count = Atomic<Int>(0)

  func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    count.add(1, ordering: .relaxed)
    return work()
  }
}

/// Runs what the server leaves behind a request, and waits for it where a test asks.
final class BackgroundWork: Sendable {
  private let running = Mutex<[Task<Void, Never>]>([])
  /// nil where work begins at once.
  private let held = Mutex<[@Sendable () async -> Void]?>(nil)

  func run(_ work: @escaping @Sendable () async -> Void) {
    let isHeld = held.withLock { held in
      held?.append(work)
      return held != nil
    }
    if isHeld { return }
    let task = Task { await work() }
    running.withLock { $0.append(task) }
  }

  /// Nothing begins until it is let go; how much waits then.
  func hold() { held.withLock { $0 = [] } }

  @discardableResult func letGo() -> Int {
    let waiting = held.withLock { held in
      defer { held = nil }
      return held ?? []
    }
    for work in waiting { run(work) }
    return waiting.count
  }

  func drain() async {
    while true {
      let tasks = running.withLock { tasks in
        defer { tasks = [] }
        return tasks
      }
      if tasks.isEmpty { return }
      for task in tasks { await task.value }
    }
  }
}
