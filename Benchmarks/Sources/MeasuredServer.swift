import Admission
import AppAttest
import BramleyAPI
import Cryptography
import Encodings
import Foundation
import Gateway
import HTTPMessages
import SQL
import Server
import Stores
import System
import Transport

/// The process under measurement, pinned to one core by its parent.
enum MeasuredServer {
  enum Mode: String {
    /// Answers, and nothing else: what HTTP costs.
    case bare
    /// Verifies the assertion.
    case verified
    /// Verifies, consumes the counter, counts three quotas and holds money, durably.
    case admitted
    /// The whole server: all of it, the policy, a provider in the process, the settlement and the log.
    case gateway
    /// The same with the provider in another process, through the HTTP client.
    case proxied
    /// The provider of `proxied`: answers Messages calls at once; `/stream` streams events until the reader
    /// leaves, `/count` says how many of those streams are open.
    case upstream
    /// Passes everything through to `upstream`.
    case relay
  }

  static func run(_ mode: Mode, devices: Int, directory: String) async throws {
    raiseDescriptorLimit()
    let loops = try EventLoopGroup(loops: 1)
    let handler: any HTTPHandler =
      switch mode {
      case .upstream: StreamingProvider(loops: loops)
      case .relay: Relay(client: try HTTPClient(on: loops), upstream: upstreamPort)
      default: try await attested(mode, devices: devices, directory: directory, loops)
      }
    guard let address = SocketAddress("127.0.0.1:0") else { throw BenchmarkError("address") }
    let server = try await HTTPServer(handler, on: [address], loops: loops)
    try Files.writeAll(Array("listening \(server.addresses[0].port)\n".utf8), to: 1)
    let signals = try Signals(on: loops.next())
    _ = try await signals.next()
    await server.shutdown(within: .seconds(1))
  }

  /// The port of the other process that plays the provider.
  static var upstreamPort: UInt16 {
    ProcessInfo.processInfo.environment["BRAMLEY_BENCH_UPSTREAM"].flatMap { UInt16($0) } ?? 0
  }

  private static func attested(
    _ mode: Mode, devices: Int, directory: String, _ loops: EventLoopGroup
  ) async throws -> any HTTPHandler {
    let database = try Database(.file(directory + "/bench.sqlite"))
    let now = WallClock.milliseconds
    try await Schema.migrate(database, now: now / 1000)
    let keys = SQLDeviceKeyStore(database)
    let ledger = SQLAdmissionLedger(database)
    _ = try await keys.challengeSecrets(fresh: Workload.secret.secret)
    let rows = try Workload(devices: devices).rows(now: now / 1000)
    try await withThrowingTaskGroup(of: RegistrationOutcome.self) { group in
      for (index, row) in rows.enumerated() {
        group.addTask {
          try await keys.register(
            row, receipt: [], challenge: SecureRandom.bytes(16), challengeExpiry: now / 1000 + 300)
        }
        if index % 512 == 511 { for _ in 0..<512 { _ = try await group.next() } }
      }
      for try await outcome in group where outcome != .created { throw BenchmarkError("\(outcome)") }
    }
    switch mode {
    case .gateway: return try gateway(database, keys, ledger, loops, upstream: InstantProvider())
    case .proxied:
      let relay = Relay(client: try HTTPClient(on: loops), upstream: upstreamPort)
      return try gateway(database, keys, ledger, loops, upstream: relay)
    default:
      let parsed = try rows.map { ($0.keyID, ($0, try P256.PublicKey(point: $0.publicKey))) }
      return AdmissionHandler(mode: mode, keys: Dictionary(uniqueKeysWithValues: parsed), ledger: ledger)
    }
  }

  private static func gateway(
    _ database: Database, _ keys: SQLDeviceKeyStore, _ ledger: SQLAdmissionLedger,
    _ loops: EventLoopGroup, upstream: any HTTPHandler
  ) throws -> any HTTPHandler {
    var configuration = Configuration()
    configuration.attest.audiences = [Workload.audience]
    configuration.attest.apps = [.init(appID: Workload.appID, environments: [.production])]
    var provider = Configuration.Anthropic(apiKey: Secret("sk-ant-benchmark-0123456789"))
    provider.models = ["claude-haiku-4-5"]
    configuration.anthropic = provider
    configuration.quotas = [
      .init(name: "daily", subject: .key, limit: 1 << 40),
      .init(name: "daily-app", subject: .app, limit: 1 << 40),
      .init(name: "daily-everyone", subject: .everyone, limit: 1 << 40),
    ]
    configuration.burst = .init(requests: 1 << 30, seconds: 1)
    configuration.inFlight = 1 << 30
    configuration.budgets = [.init(name: "budget", subject: .everyone, limit: 1 << 62)]
    let tasks = BackgroundTasks(on: loops)
    let environment = Environment(
      configuration: configuration, now: { WallClock.milliseconds },
      uptime: { MonotonicTime.now.nanoseconds }, random: { SecureRandom.bytes($0) },
      background: { work in tasks.start { await work() } }, offload: InPlace(), log: { _ in }, zone: [],
      keys: keys, ledger: ledger, debugTokens: SQLDebugTokenStore(database),
      isReady: { true }, upstream: upstream)
    return try Server(environment).handler
  }
}

/// Answers a Messages call at once, out of the same process.
struct InstantProvider: HTTPHandler {
  static let answer = Array(
    (#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","#
      + #""text":"Hello."}],"stop_reason":"end_turn","usage":{"input_tokens":8,"output_tokens":3}}"#).utf8)

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    _ = try await request.body.collect(upTo: 1 << 20)
    return HTTPResponse(
      status: 200, fields: ["content-type": "application/json"], body: HTTPBody(Self.answer))
  }
}

/// Evidence and admission without the rest of the server.
struct AdmissionHandler: HTTPHandler {
  let mode: MeasuredServer.Mode
  let keys: [[UInt8]: (DeviceKey, P256.PublicKey)]
  let ledger: SQLAdmissionLedger
  private let authority = ChallengeAuthority(secrets: [Workload.secret])
  private let app = AcceptedApp(id: Workload.appID, environments: [.production])
  private let expectation = KeyExpectation(
    apps: ["production/" + Workload.appID], anchors: [TrustAnchors.apple.attestation[0].fingerprint])
  private let window = Window(id: "bench", start: 0, end: 1 << 60)

  init(
    mode: MeasuredServer.Mode, keys: [[UInt8]: (DeviceKey, P256.PublicKey)], ledger: SQLAdmissionLedger
  ) {
    self.mode = mode
    self.keys = keys
    self.ledger = ledger
  }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let body = try await request.body.collect(upTo: 1 << 20)
    if mode == .bare { return HTTPResponse(status: 200, body: HTTPBody("ok")) }
    let now = WallClock.milliseconds
    guard let name = request.fields[AttestFields.keyID].flatMap({ Base64.decode($0) }), let key = keys[name],
      let assertion = request.fields[AttestFields.assertion].flatMap({ Base64.decode($0) }),
      let text = request.fields[AttestFields.challenge],
      let challenge = try? authority.verify(text, purpose: .request, now: now / 1000)
    else { return HTTPResponse(status: 401) }
    let signed = SignedBytes.request(
      audience: Workload.audience, challenge: challenge.bytes, method: request.method.rawValue,
      target: request.target, authorizationHash: SHA256.hash(request.fields["authorization"] ?? ""),
      bodyHash: SHA256.hash(body))
    guard
      let verified = try? Assertion.verify(
        assertion, clientDataHash: SHA256.hash(signed), key: key.1, app: app)
    else { return HTTPResponse(status: 401) }
    if mode == .verified { return HTTPResponse(status: 200, body: HTTPBody("ok")) }
    let decision = try await ledger.admit(
      AdmissionRequest(
        id: SecureRandom.bytes(16),
        evidence: .assertion(keyID: name, counter: verified.counter, challenge: nil),
        expectation: expectation, now: now, charges: charges, lease: 60_000, address: "127.0.0.1"))
    guard case .admitted = decision else { return HTTPResponse(status: 429) }
    return HTTPResponse(status: 200, body: HTTPBody("ok"))
  }

  /// Three quotas and a hold.
  private var charges: [Charge] {
    [
      Charge(
        subject: .key, rule: "daily", amount: 1, limit: .window(window, limit: 1 << 40, unit: .requests)),
      Charge(subject: .app, rule: "app", amount: 1, limit: .window(window, limit: 1 << 40, unit: .requests)),
      Charge(
        subject: .everyone, rule: "all", amount: 1, limit: .window(window, limit: 1 << 40, unit: .requests)),
      Charge(
        subject: .everyone, rule: "budget", amount: 1_000_000,
        limit: .window(window, limit: 1 << 62, unit: .money)),
    ]
  }
}
