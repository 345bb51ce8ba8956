import AppAttest
import AppleSimulator
import Encodings
import Server
import SignInWithApple
import Stores
import System
import Transport

/// `bramley dev`
struct Dev: Command {
  static let syntax = CommandSyntax(
    words: ["dev"], summary: "Run a server with everything simulated, and say what to try.",
    options: [
      .init(
        name: "listen", value: "ADDRESS", summary: "IP address and port", fallback: "\(defaultAddress)"),
      .init(
        name: "data", value: "DIR", summary: "where the database and the simulated phones are kept",
        fallback: DataDirectory.developmentDefault),
      .init(
        name: "daily", value: "N", summary: "requests that a phone may make a day",
        fallback: "\(defaultDaily)"),
      .init(
        name: "events", value: "URL", summary: "send events there, such as http://127.0.0.1:9000/events",
        fallback: "nowhere"),
      .init(
        name: "hooks", value: "URL", summary: "ask URL/before_user_created and URL/custom_access_token",
        fallback: "nobody"),
    ],
    discussion: """
      Apple is simulated by an authority that is made for the data directory, Claude, GPT and fal by
      programs that answer from the prompt alone: no account, no key and no network are needed. The
      database is marked, so that no server in production takes it. With --listen 0.0.0.0:8080 phones
      of the same network reach it as well, by each address that is printed.
      """)

  private static let defaultAddress = ListenAddress(host: "127.0.0.1", port: 8080)
  private static let defaultDaily: Int64 = 20

  private let listen: ListenAddress
  private let data: DataDirectory
  private let daily: Int64
  private let backend: DevelopmentBackend

  init(_ arguments: ParsedArguments) throws(UsageError) {
    listen =
      try arguments.value("listen", expected: "an IP address and a port such as 127.0.0.1:8080") { text in
        ListenAddress(text).flatMap { $0.port == 0 ? nil : $0 }
      } ?? Self.defaultAddress
    data = arguments.dataDirectory
    daily =
      try arguments.value("daily", expected: "a number from 1 to 1000000") { text in
        Int64(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
      } ?? Self.defaultDaily
    backend = try DevelopmentBackend(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let authority = try SimulatedApple.authority(in: data)
    let loops = try EventLoopGroup(loops: EventLoopGroup.processors)
    let sleep: @Sendable (Duration) async throws -> Void = { try await loops.currentOrNext().sleep(for: $0) }
    let appleID = try await StoredAppleID(
      in: data, callbacks: bases.audiences.map { $0 + "/auth/v1/callback" }, sleep: sleep)
    let providers = SimulatedProviders(sleep: sleep)
    let devices = try DevelopmentDevices(authority, team: appleID.key)
    let parts = try await Compose(
      try configuration(authority, appleID, providers), use: .simulation, loops: loops)
    let server = try Server(
      try parts.environment(
        upstream: providers, apple: appleID.handler,
        appleService: AppleIDService(
          scheme: "http", authority: String(bases.own.dropFirst("http://".count)),
          pathPrefix: StoredAppleID.path), files: providers.fal,
        devices: devices.environment(SQLReceiptStore(parts.database))))
    let live = try await LiveServer(
      server, parts, handler: devices.beside(appleID.beside(server.handler)))
    tour(console, metrics: "http://\(live.adminListener.addresses[0])/metrics")
    try await live.run()
    return .success
  }

  private func configuration(
    _ authority: SimulatedAppleCA, _ appleID: StoredAppleID, _ providers: SimulatedProviders
  ) throws -> Configuration {
    var configuration = Configuration()
    configuration.deployment = .development
    configuration.listen = listen
    configuration.adminListen = ListenAddress(host: "127.0.0.1", port: 0)
    configuration.data = data.path
    configuration.attest.audiences = bases.audiences
    configuration.attest.apps = [
      .init(appID: SimulatedApple.app.id, environments: [.development, .production], clientID: "clid_dev")
    ]
    configuration.attest.simulatorRoot = .init(certificate: authority.root)
    configuration.attest.appleKey = .init(
      teamID: appleID.key.teamID, keyID: appleID.key.keyID, privateKey: Secret(appleID.key.p8))
    configuration.attest.deviceCheck = true
    providers.configure(&configuration)
    configuration.auth = accounts(appleID)
    configuration.functions = try ExampleFunctions.functions(over: configuration)
    configuration.corsAllowsLoopback = true
    configuration.quotas = [.init(name: "daily", subject: .key, limit: daily)]
    configuration.quotas += ExampleFunctions.quotas(of: configuration.functions)
    configuration.burst = .init(requests: 60, seconds: 60)
    backend.configure(&configuration)
    return configuration
  }

  private func accounts(_ appleID: StoredAppleID) -> Configuration.Auth {
    var auth = Configuration.Auth()
    var apple = Configuration.Auth.Apple(teamID: StoredAppleID.teamID, clients: StoredAppleID.clients)
    apple.keyID = appleID.key.keyID
    apple.privateKey = Secret(appleID.key.p8)
    auth.apple = apple
    auth.redirects = RedirectList(allowsLoopback: true)
    return auth
  }

  private var bases: DevelopmentBases {
    DevelopmentBases(listen, addresses: LocalAddresses.all, host: CurrentProcess.host)
  }

  private func tour(_ console: Console, metrics: String) {
    let program = CommandLine.arguments.first ?? "bramley"
    let bases = bases
    let base = bases.own
    let options =
      ([] as [String])
      + (base == "http://\(Self.defaultAddress)" ? [] : ["--server \(base)"])
      + (data == .forDevelopment(CurrentProcess.environment) ? [] : ["--data \(data.path)"])
    let more = options.map { " " + $0 }.joined()
    let elsewhere = bases.others.filter { $0 != base }
    let others =
      elsewhere.isEmpty
      ? "" : "\nPhones and browsers of this network reach it at \(elsewhere.joined(separator: ", "))"
    console.print(
      """
      Bramley is at \(base), with a simulated Apple, Claude, GPT and fal.\(others)
      Each simulated phone may ask \(daily) times a day. What is kept is in \(data.path)\(backend.words)

      Try, in another terminal:

        \(program) simulate ask "What is an apple?"\(more)
            A simulated iPhone makes a key, proves itself, and streams an answer.

        \(program) simulate ask "[simulate: error 529] hello"\(more)
            The provider is overloaded. Its other moods: docs/simulator.md

        \(program) simulate call calories '{"meal": "a bowl of soup"}'\(more)
            Calls a function: its prompt stays on the server. creature_name and creature_picture are others.

        \(program) simulate proxy\(more)
            Plays the phone for official SDKs: base_url="http://127.0.0.1:8081/ai/anthropic",
            or "http://127.0.0.1:8081/ai/openai/v1" for OpenAI's

        \(program) simulate token\(more)
            Buys a session token, for SDKs whose headers are fixed.

        \(program) simulate apple sign-in\(more)
            Signs in with a simulated Apple Account. With --link the account of before is kept.

        \(program) simulate apple settings revoke\(more)
            The user withdraws consent; Apple tells the server, which ends the sessions.

        \(program) simulate risk 30\(more)
            Apple's next receipt says that the phone has attested 30 keys in 30 days.

        curl \(base)/attest/v1/challenge
        curl \(metrics)

      Control-C ends it.
      """)
  }
}
