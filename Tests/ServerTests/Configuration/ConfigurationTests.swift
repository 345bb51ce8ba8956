import AppAttest
import AppleSimulator
import Encodings
import Gateway
import Testing

@testable import Server

private let valid = """
  {
    "environment": "production",
    "attest": {
      "audiences": ["https://api.example.com"],
      "apps": [{ "app_id": "ABCDE12345.com.example.app" }]
    },
    "providers": { "anthropic": { "api_key": { "env": "KEY" }, "models": ["claude-haiku-4-5"] } }
  }
  """

private func read(
  _ text: String?, _ variables: [String: String] = ["KEY": "sk-secret-1"]
) throws(ConfigurationMistakes) -> Configuration {
  try Configuration.read(
    ConfigurationSources(
      text: text.map { Array($0.utf8) }, variables: variables,
      readFile: { $0 == "/key" ? Array("sk-from-file\n".utf8) : nil },
      zoneExists: { ["UTC", "Europe/Berlin"].contains($0) }))
}

private func mistakes(
  _ text: String?, _ variables: [String: String] = ["KEY": "sk-secret-1"]
) -> [ConfigurationMistake] {
  do {
    _ = try read(text, variables)
    return []
  } catch {
    return error.mistakes
  }
}

@Suite struct ConfigurationTests {
  @Test("no file gives safe defaults on loopback")
  func defaults() throws {
    let configuration = try read(nil, [:])
    #expect(configuration == Configuration())
    #expect(configuration.listen.isLoopback && configuration.adminListen.isLoopback)
    #expect(configuration.anthropic == nil)
    #expect(configuration.attest.apps.isEmpty)
  }

  @Test("a good file is read whole")
  func good() throws {
    let configuration = try read(valid)
    #expect(configuration.deployment == .production)
    #expect(configuration.attest.apps.map(\.appID) == ["ABCDE12345.com.example.app"])
    #expect(configuration.attest.apps.first?.environments == [.production])
    #expect(configuration.anthropic?.apiKey.value == "sk-secret-1")
    #expect(configuration.anthropic?.policy == .assertion)
  }

  @Test(
    "a command that works on the database needs no secret of anybody else, and the rest as the server does")
  func databaseCommand() throws {
    let database = { (text: String) throws(ConfigurationMistakes) in
      try Configuration.read(ConfigurationSources(text: Array(text.utf8)), for: .databaseCommand)
    }
    let sealed = valid.replacing(
      "\"providers\"",
      with:
        #""data": "/d", "auth": { "sealing": { "current": { "name": "a", "key": { "env": "S" } } } }, "providers""#
    )
    #expect(try database(sealed).data == "/d")
    for wrong in [
      valid.replacing("\"providers\"", with: #""dta": "/d", "providers""#),
      valid.replacing("\"providers\"", with: #""database": { "url": { "env": "NO" } }, "providers""#),
    ] {
      #expect(throws: ConfigurationMistakes.self) { try database(wrong) }
    }
  }

  @Test("variables override any key, and fill sections that the file lacks")
  func variables() throws {
    let configuration = try read(
      valid,
      [
        "BRAMLEY_LISTEN": "[::1]:99", "BRAMLEY_PROVIDERS_ANTHROPIC_BASE_URL": "https://eu.example.com/a",
        "BRAMLEY_PROVIDERS_ANTHROPIC_API_KEY": "sk-direct", "BRAMLEY_IN_FLIGHT": "7",
        "BRAMLEY_TRUSTED_PROXIES": "10.0.0.0/8, ::1", "BRAMLEY_BURST_REQUESTS": "5",
        "BRAMLEY_PROVIDERS_ANTHROPIC_ALIASES": #"{"fast":"claude-haiku-4-5"}"#,
        "BRAMLEY_QUOTAS": #"[{"name":"d","subject":"key","limit":1}]"#, "BRAMLEY_TIME_ZONE": "Europe/Berlin",
      ])
    #expect(configuration.listen.description == "[::1]:99")
    #expect(configuration.anthropic?.baseURL == "https://eu.example.com/a")
    #expect(configuration.anthropic?.apiKey.value == "sk-direct")
    #expect(configuration.anthropic?.aliases == ["fast": "claude-haiku-4-5"])
    #expect(configuration.inFlight == 7 && configuration.burst.requests == 5)
    #expect(configuration.trustedProxies.count == 2)
    #expect(configuration.quotas.map(\.name) == ["d"])

    let fromNothing = try read(
      nil,
      [
        "BRAMLEY_PROVIDERS_ANTHROPIC_API_KEY": "k",
        "BRAMLEY_PROVIDERS_ANTHROPIC_MODELS": "claude-opus-5,claude-haiku-4-5",
      ])
    #expect(fromNothing.anthropic?.models == ["claude-opus-5", "claude-haiku-4-5"])
  }

  @Test("a client id is an app's own, and needs Anthropic's routes to take tokens")
  func clientIDs() throws {
    let app = "\"ABCDE12345.com.example.app\""
    let named = valid.replacing(app, with: app + ", \"client_id\": \"clid_a\"")
    let session = named.replacing("\"api_key\"", with: "\"policy\": \"session\", \"api_key\"")
    #expect(try read(session).attest.apps.map(\.clientID) == ["clid_a"])
    #expect(try read(valid).attest.apps.map(\.clientID) == [nil])
    #expect(mistakes(named).map(\.path) == ["attest.apps"])
    let twice = session.replacing(
      "\"apps\": [", with: "\"apps\": [{ \"app_id\": \"ABCDE12345.b\", \"client_id\": \"clid_a\" }, ")
    #expect(mistakes(twice).map(\.path) == ["attest.apps"])
    for wrong in ["", "a b", String(repeating: "a", count: 129), "a\u{e9}"] {
      let text = session.replacing("clid_a", with: wrong)
      #expect(mistakes(text).map(\.path) == ["attest.apps[0].client_id"], "\(wrong)")
    }
  }

  @Test("a model without a price is named, and an own row gives it one")
  func prices() throws {
    let other = valid.replacing("claude-haiku-4-5", with: "claude-next-1")
    #expect(mistakes(other).map(\.path) == ["providers.anthropic.models[0]"])
    let row =
      #"{"model":"claude-next-1","input":"1","output":"5","cache_read":"0.1","cache_write_5m":"1.25","#
      + #""context":200000,"max_output":64000}"#
    let priced = other.replacing("\"models\"", with: "\"prices\": [\(row)], \"models\"")
    let price = try #require(try read(priced).anthropic?.prices.first)
    #expect(price.prices.input == 1_000_000 && price.prices.cacheWrite1h == nil)
    #expect(
      mistakes(priced.replacing("\"0.1\"", with: "0.1")).map(\.path).contains(
        "providers.anthropic.prices[0].cache_read"))
    #expect(
      mistakes(priced.replacing("\"max_output\"", with: "\"max_out\"")).map(\.path).contains(
        "providers.anthropic.prices[0]"))
  }

  @Test("a variable of ours that sets nothing is named")
  func unknownVariables() {
    let sources = ConfigurationSources(
      variables: ["BRAMLEY_LISTEN": "127.0.0.1:1", "BRAMLEY_LISSEN": "x", "HOME": "/"])
    #expect(Configuration.unknownVariables(sources) == ["BRAMLEY_LISSEN"])
  }

  @Test("all mistakes are named at once, each with path, place and remedy")
  func allAtOnce() throws {
    let found = mistakes(
      """
      {
        "environment": "prod",
        "lisen": "127.0.0.1:8080",
        "time_zone": "Mars/Olympus",
        "attest": { "audiences": ["api.example.com/"], "apps": [{ "app_id": "short" }] },
        "providers": { "anthropic": { "api_key": { "env": "NOT_SET" }, "models": [], "max_tokens": "many" } },
        "quotas": [{ "name": "Daily", "subject": "phone", "limit": 3 }],
        "budgets": [{ "name": "b", "subject": "key", "dollars": 3 }]
      }
      """)
    let paths = found.map(\.path)
    for path in [
      "environment", "lisen", "time_zone", "attest.audiences[0]", "attest.apps[0].app_id",
      "providers.anthropic.api_key.env", "providers.anthropic.models", "providers.anthropic.max_tokens",
      "quotas[0].name", "quotas[0].subject", "budgets[0].dollars",
    ] { #expect(paths.contains(path), "\(path) is missing in \(paths)") }
    let slip = try #require(found.first { $0.path == "lisen" })
    #expect(slip.place == .file(line: 3, column: 3))
    #expect(slip.remedy.contains("\"listen\""))
    #expect(found.allSatisfy { !$0.remedy.isEmpty && !$0.problem.isEmpty })
  }

  @Test("broken JSON is named with its line")
  func syntax() {
    #expect(mistakes("{\n  \"listen\": ,\n}").map(\.place) == [.file(line: 2, column: 13)])
    #expect(mistakes("").count == 1)
    #expect(mistakes("[]").count >= 1)
  }

  @Test("RULES §1.6: the simulator's root is refused in production, and elsewhere named by its fingerprint")
  func simulatorRoot() throws {
    let authority = try SimulatedAppleCA(now: 1_790_000_000)
    let pem = "-----BEGIN CERTIFICATE-----\n\(Base64.encode(authority.root))\n-----END CERTIFICATE-----\n"
    func read(_ fingerprint: String, _ environment: String = "development") -> [ConfigurationMistake] {
      let trust = #""trust": { "fingerprint": "\#(fingerprint)", "certificate": "/root.pem" }, "audiences""#
      let text = valid.replacing("\"audiences\"", with: trust)
        .replacing("\"production\"", with: "\"\(environment)\"")
      do {
        let configuration = try Configuration.read(
          ConfigurationSources(
            text: Array(text.utf8), variables: ["KEY": "k"],
            readFile: { $0 == "/root.pem" ? Array(pem.utf8) : nil }))
        #expect(configuration.attest.simulatorRoot?.certificate == authority.root)
        return []
      } catch {
        return error.mistakes
      }
    }
    let right = Hex.encode(authority.fingerprint)
    #expect(read(right) == [])
    #expect(read(right, "production").map(\.path) == ["attest.trust"])
    #expect(read(String(repeating: "ab", count: 32)).map(\.path) == ["attest.trust.fingerprint"])
    #expect(read("").map(\.path) == ["attest.trust.fingerprint"])
  }

  @Test("RULES §1.7: a route without proof needs a daily cap of its own")
  func openRoute() throws {
    let open = valid.replacing("\"models\"", with: "\"policy\": \"none\", \"models\"")
    #expect(try read(open).anthropic?.policy == Configuration.RoutePolicy.none)
    let withoutCap = open.replacing(
      "\"providers\"", with: #""budgets": [{"name":"k","subject":"key","dollars":"1"}], "providers""#)
    #expect(mistakes(withoutCap).map(\.path) == ["providers.anthropic.policy"])
  }

  @Test("the key never travels in clear", arguments: ["http://api.example.com", "http://10.0.0.1:80"])
  func clear(_ url: String) {
    for text in [valid, valid.replacing("\"production\"", with: "\"development\"")] {
      let with = text.replacing("\"models\"", with: "\"base_url\": \"\(url)\", \"models\"")
      #expect(mistakes(with).map(\.path) == ["providers.anthropic.base_url"])
    }
  }

  @Test("production needs https audiences and an app")
  func production() {
    #expect(mistakes(#"{ "environment": "production" }"#).map(\.path) == ["attest.audiences", "attest.apps"])
    let text = valid.replacing("https://api.example.com", with: "http://api.example.com")
    #expect(mistakes(text).map(\.path) == ["attest.audiences[0]"])
  }

  @Test("a secret is in no description, no mistake, no mirror")
  func secrets() throws {
    let configuration = try read(valid)
    for text in ["\(configuration)", String(reflecting: configuration)] {
      #expect(!text.contains("sk-secret-1"))
    }
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(!dumped.contains("sk-secret-1"))
    let bad = mistakes(valid, ["KEY": "sk secret with blanks\r\nx: y"])
    #expect(bad.count == 1 && !bad.description.contains("blanks\\r"))
    #expect(!bad.map(\.description).joined().contains("sk secret"))
  }

  @Test("a secret in a file loses the line end")
  func secretFile() throws {
    let text = valid.replacing("\"env\": \"KEY\"", with: "\"file\": \"/key\"")
    #expect(try read(text).anthropic?.apiKey.value == "sk-from-file")
    #expect(
      mistakes(text.replacing("/key", with: "/other")).map(\.path) == ["providers.anthropic.api_key.file"])
    let both = valid.replacing("\"env\": \"KEY\"", with: "\"env\": \"KEY\", \"file\": \"/key\"")
    #expect(mistakes(both).count == 1)
  }

  @Test(
    "money is exact",
    arguments: [
      ("0.50", 500_000_000_000), ("20", 20_000_000_000_000), ("0.000000000001", 1),
      ("1000000", 1_000_000_000_000_000_000), ("1000001", nil), ("-1", nil), ("+1", nil), ("1.", nil),
      (".5", nil), ("1e3", nil), ("", nil), ("1.0000000000001", nil), ("٣", nil), ("0.-5", nil),
      ("0.+5", nil),
    ] as [(String, Int64?)])
  func money(_ text: String, _ pico: Int64?) {
    #expect(Configuration.picoDollars(text) == pico)
  }
}
