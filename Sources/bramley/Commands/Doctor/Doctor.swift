import Encodings
import Server
import SignInWithApple
import System
import Transport

/// `bramley doctor`
struct Doctor: Command {
  static let syntax = CommandSyntax(
    words: ["doctor"], summary: "Say what of this machine and its configuration is not in order.",
    options: [
      .init(
        name: "config", value: "FILE", summary: "the configuration", fallback: "as for serve"),
      .init(name: "offline", summary: "ask nobody on the network"),
    ],
    discussion: """
      Nothing is changed. Each of attest.audiences is asked how a request arrives, which shows proxies
      that rewrite paths, hold streams back or hide whose request it is. Each provider is asked without
      the key whether it answers, and what time it is: challenges and attestations depend on the clock.
      Apple is asked for its keys, with a code of nobody whether it takes our client secrets, and with a
      token of no device whether it takes the key for DeviceCheck.
      The exit code is 0 only if nothing fails.
      """)

  private let config: String?
  private let offline: Bool

  init(_ arguments: ParsedArguments) throws(UsageError) {
    config = arguments.value("config")
    offline = arguments.flag("offline")
  }

  func run(_ console: Console) async throws -> ExitCode {
    let configuration = try ConfigurationFile.read(config, console)
    var findings = [Finding(.good, "configuration", "\(configuration.deployment.rawValue)")]
    findings.append(Self.zone(configuration.timeZone))
    findings.append(Self.certificates())
    findings.append(await StoredState.finding(configuration))
    if configuration.providers.isEmpty {
      findings.append(Finding(.note, "provider", "none is configured: nothing can be asked"))
    }
    findings += Self.budgets(configuration) + Self.functions(configuration)
    for provider in configuration.providers where !offline {
      console.note("asking \(provider.baseURL)")
      findings += await ProviderProbe.findings(name: provider.name, baseURL: provider.baseURL)
    }
    if let apple = configuration.auth?.apple, !offline { findings += try await Self.apple(apple, console) }
    if !offline { findings.append(try await Self.devices(configuration.attest, console)) }
    findings.append(Self.descriptors(DescriptorLimit.current))
    if !offline { findings += try await Self.proxies(configuration, console) }
    if configuration.trustedProxies.isEmpty {
      findings.append(
        Finding(.note, "proxy", "none is trusted: behind one, every request counts as the proxy's"))
    }
    for finding in findings { console.print(finding.line) }
    return findings.contains { $0.verdict == .bad } ? .failure : .success
  }

  private static func proxies(_ configuration: Configuration, _ console: Console) async throws -> [Finding] {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let client = try HTTPClient(on: loops)
    var findings: [Finding] = []
    for audience in configuration.attest.audiences {
      guard let base = BaseURL(audience) else { continue }
      console.note("asking \(audience)")
      findings += await ProxyProbe(client: client, base: base).findings()
    }
    return findings
  }

  private static func apple(_ apple: Configuration.Auth.Apple, _ console: Console) async throws -> [Finding] {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    console.note("asking \(AppleIDService.apple.authority)")
    return await AppleProbe(client: try HTTPClient(on: loops), apple: apple, now: WallClock.seconds)
      .findings()
  }

  private static func devices(_ attest: Configuration.Attest, _ console: Console) async throws -> Finding {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    if attest.appleKey != nil { console.note("asking Apple's DeviceCheck") }
    return await DeviceProbe(
      client: try HTTPClient(on: loops), attest: attest, now: WallClock.milliseconds
    ).finding()
  }

  /// serve raises its own limit to the hard one.
  static func descriptors(_ limit: DescriptorLimit) -> Finding {
    limit.hard >= 8_192
      ? Finding(.good, "descriptors", "up to \(limit.hard): as many connections")
      : Finding(
        .bad, "descriptors",
        "\(limit.hard) at most, and each connection takes one or two; raise it (LimitNOFILE=65536 in systemd's "
          + "unit, ulimit -Hn in a shell)")
  }

  private static func zone(_ name: String) -> Finding {
    ZoneFiles.read(name) == nil
      ? Finding(.bad, "time zone", "there is no \(name); install the package tzdata")
      : Finding(.good, "time zone", name)
  }

  private static func certificates() -> Finding {
    let path = "/etc/ssl/certs/ca-certificates.crt"
    return Files.exists(path)
      ? Finding(.good, "certificates", path)
      : Finding(.bad, "certificates", "\(path) is missing; install the package ca-certificates")
  }
}

/// One thing that was looked at.
struct Finding: Sendable, Equatable {
  enum Verdict: String, Sendable {
    case good = "ok"
    case note
    case bad = "FAILED"
  }

  var verdict: Verdict
  var subject: String
  var words: String

  init(_ verdict: Verdict, _ subject: String, _ words: String) {
    self.verdict = verdict
    self.subject = subject
    self.words = words
  }

  /// For a person.
  var line: String {
    "\(verdict.rawValue.padded(to: 8))\(subject.padded(to: 15))\(words)"
  }
}
