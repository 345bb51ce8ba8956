import Accounts
import Admission
import AppAttest
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Server
import SignInWithApple
import Stores
import System
import Transport

/// The composition root: the one place that names the live clock, the source of randomness, the database, the
/// network and the log, and hands them to the application.
struct Compose: Sendable {
  let configuration: Configuration
  let loops: EventLoopGroup
  let background: BackgroundTasks
  let database: Database
  private let claim: FileLock?

  /// Starts the loops, where none are given, and opens the database.
  init(_ configuration: Configuration, use: StoredState.Use, loops given: EventLoopGroup? = nil) async throws
  {
    self.configuration = configuration
    DescriptorLimit.raise()
    loops = try given ?? EventLoopGroup(loops: EventLoopGroup.processors)
    background = BackgroundTasks(on: loops)
    (database, claim) = try await StoredState.open(
      DatabasePlace(configuration), use: use, loops: loops)
  }

  /// The network's providers.
  func network() throws -> any HTTPHandler { try client(HTTPClientConfiguration()) }

  /// Apple, for whose answer somebody waits who signs in.
  func appleNetwork() throws -> any HTTPHandler {
    var settings = HTTPClientConfiguration()
    settings.headTimeout = .seconds(10)
    settings.idleTimeout = .seconds(10)
    settings.totalTimeout = .seconds(20)
    return try client(settings)
  }

  /// Whoever else is asked: at public addresses, and at those that the configuration allows (RULES §6.3).
  func outsideNetwork() throws -> OutsideNetwork {
    OutsideNetwork(
      files: try outside(total: .seconds(120)), webhooks: try outside(total: .seconds(15)),
      hooks: try outside(total: .seconds(5)))
  }

  private func outside(total: Duration) throws -> any HTTPHandler {
    try client(Self.outsideSettings(configuration, total: total))
  }

  /// - Parameter total: from the start to the last octet of an answer.
  static func outsideSettings(_ configuration: Configuration, total: Duration) -> HTTPClientConfiguration {
    var settings = HTTPClientConfiguration()
    settings.headTimeout = min(total, .seconds(15))
    settings.idleTimeout = min(total, .seconds(15))
    settings.totalTimeout = total
    settings.allowsPrivateAddresses = false
    settings.allowsAddress = { configuration.allowsOutside($0) }
    settings.maximumHeadSize = 16 * 1024
    settings.maximumIdleConnections = 8
    return settings
  }

  private func client(_ settings: HTTPClientConfiguration) throws -> any HTTPHandler {
    var settings = settings
    settings.diagnose = { authority, text in
      Self.log("upstream", [("authority", .string(authority)), ("text", .string(text))])
    }
    return try HTTPClient(on: loops, settings)
  }

  /// The application over these parts, the providers, and Apple.
  ///
  /// - Parameter files: where the files of providers are; nil for the network.
  func environment(
    upstream: any HTTPHandler, apple: any HTTPHandler, appleService: AppleIDService = .apple,
    files: (any HTTPHandler)? = nil,
    devices: DeviceEnvironment? = nil
  ) throws -> Environment {
    var outside = try outsideNetwork()
    if let files { outside.files = files }
    guard let zone = ZoneFiles.read(configuration.timeZone) else {
      throw CommandFailure(
        message: "there is no time zone \(configuration.timeZone) here; install the package tzdata",
        code: .configuration)
    }
    return Environment(
      configuration: configuration,
      now: { WallClock.milliseconds },
      uptime: { MonotonicTime.now.nanoseconds },
      random: { SecureRandom.bytes($0) },
      background: { [background] work in background.start(work) },
      offload: OtherThreads(),
      sleep: { [loops] in try await loops.currentOrNext().sleep(for: $0) },
      droppedLogLines: { Self.lines.dropped },
      log: Self.log,
      zone: zone,
      keys: SQLDeviceKeyStore(database),
      tokenMints: SQLTokenMintStore(database),
      ledger: SQLAdmissionLedger(database),
      debugTokens: SQLDebugTokenStore(database),
      queuedCalls: SQLQueuedCallStore(database),
      devices: devices ?? DeviceEnvironment(store: SQLReceiptStore(database), apple: apple),
      answers: SQLKeptAnswerStore(database),
      accounts: AccountEnvironment(
        store: SQLAccountStore(database), users: SQLUserStore(database),
        signingKeys: SQLSigningKeyStore(database), appleTokens: SQLAppleTokenStore(database),
        appleEvents: SQLAppleEventStore(database),
        webFlows: SQLWebFlowStore(database), adminKeys: SQLAdminKeyStore(database),
        audit: SQLAuditStore(database), deletions: SQLDeletionStore(database), owned: Self.owned(database),
        apple: apple,
        appleService: appleService),
      objects: SQLObjectStore(database),
      isReady: { [database] in await database.isReady() },
      upstream: upstream,
      outside: outside,
      events: SQLEventOutbox(database))
  }

  /// What capabilities keep for users beside their accounts: steps of every deletion, also of one that a command
  /// begins.
  static func owned(_ database: Database) -> [any OwnedData] { [OwnedObjects(SQLObjectStore(database))] }

  /// What jobs that are one node's at a time run by.
  var jobContext: JobRunner.Context {
    JobRunner.Context(
      store: SQLJobStore(database), node: Self.node, now: { WallClock.milliseconds },
      uptime: { MonotonicTime.now.nanoseconds },
      sleep: { [loops] in try await loops.currentOrNext().sleep(for: $0) },
      failed: { Self.log("job_not_claimed", [("job", .string($0)), ("error", .string("\($1)"))]) })
  }

  /// This process among all nodes: for people its machine, and what no other process has.
  private static let node =
    "\(CurrentProcess.host)/\(CurrentProcess.identifier)/\(Hex.encode(SecureRandom.bytes(4)))"

  /// The log's lines on their way to stderr.
  static let lines = LineWriter(descriptor: 2) { Self.line("log_dropped", [("count", .integer($0))]) }

  /// Writes a line of the log to stderr.
  static let log: @Sendable (String) -> Void = { lines.write($0) }

  /// Writes an error that the application does not see.
  static func log(_ event: String, _ members: [(String, JSONValue)]) { log(line(event, members)) }

  private static func line(_ event: String, _ members: [(String, JSONValue)]) -> String {
    let head: [(String, JSONValue)] = [
      ("time", .string(CivilTime(secondsSince1970: WallClock.seconds).rfc3339)), ("level", "error"),
      ("event", .string(event)),
    ]
    return JSONValue.object(head + members).text
  }
}
