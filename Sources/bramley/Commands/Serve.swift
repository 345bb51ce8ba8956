import Server
import SignInWithApple
import System
import Transport

/// `bramley serve`
struct Serve: Command {
  static let syntax = CommandSyntax(
    words: ["serve"], summary: "Run the server by a configuration.",
    options: [
      .init(
        name: "config", value: "FILE", summary: "the configuration, JSON with comments",
        fallback: "bramley.jsonc where there is one, else safe defaults on loopback")
    ],
    discussion: """
      The configuration is checked as a whole: every mistake is named at once, with what to write
      instead. The log is JSON lines on stderr. SIGTERM and SIGINT end it gracefully: running answers
      go on for 30 seconds at most; a second signal ends it at once.
      """)

  private let config: String?

  init(_ arguments: ParsedArguments) throws(UsageError) { config = arguments.value("config") }

  func run(_ console: Console) async throws -> ExitCode {
    let configuration = try ConfigurationFile.read(config, console)
    if let warning = configuration.budgetWarning { console.note("warning: \(warning)") }
    let parts = try await Compose(configuration, use: StoredState.use(configuration))
    let server = try Server(
      try parts.environment(
        upstream: try parts.network(), apple: try parts.appleNetwork(),
        appleService: configuration.auth?.apple?.service ?? .apple))
    let live = try await LiveServer(server, parts)
    console.note(
      "serving on http://\(live.listener.addresses[0]), metrics on http://\(live.adminListener.addresses[0])/metrics"
    )
    try await live.run()
    return .success
  }
}
