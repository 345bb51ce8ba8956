import AppAttest
import Cryptography
import Encodings

extension Configuration {
  /// Reads `attest`.
  static func attest(_ section: ConfigurationSection, _ whole: Configuration) -> Attest {
    var out = Attest()
    out.audiences = audiences(section, whole)
    if let apps = section.objects("apps", app) { out.apps = apps }
    if whole.deployment == .production, out.apps.isEmpty, !section.reading.survey {
      section.reading.mistake(
        "attest.apps", section.here, "no app is named, so no device could register",
        "write [{ \"app_id\": \"TEAMID1234.com.example.app\", \"environments\": [\"production\"] }]")
    }
    if let value = section.entry("counter_window")?.integer(0...128) { out.counterWindow = Int(value) }
    if let value = section.entry("receipt_maximum_age")?.integer(60...86_400) {
      out.receiptMaximumAge = value
    }
    if let value = section.entry("session_lifetime")?.integer(60...600) { out.sessionLifetime = value }
    if let value = section.entry("challenges_per_minute")?.integer(1...100_000) {
      out.challengesPerMinute = value
    }
    if let value = section.entry("registrations_per_hour")?.integer(1...100_000) {
      out.registrationsPerHour = value
    }
    if let value = section.entry("registrations_per_day")?.integer(1...10_000_000) {
      out.registrationsPerDay = value
    }
    if let value = section.entry("app_registrations_per_day")?.integer(1...1_000_000_000) {
      out.appRegistrationsPerDay = value
    }
    let trust = section.section("trust")
    if trust.isPresent { out.simulatorRoot = simulatorRoot(trust, whole.deployment) }
    devices(section, &out)
    let extensions = section.section("extensions")
    if let entry = extensions.entry("categories") {
      out.validationCategories = Set((entry.list() ?? []).compactMap { $0.integer(0...255).map(UInt32.init) })
    }
    if let value = extensions.entry("required")?.bool() { out.categoryRequired = value }
    extensions.finish()
    section.finish()
    return out
  }

  private static func audiences(_ section: ConfigurationSection, _ whole: Configuration) -> [String] {
    let production = whole.deployment == .production
    guard let entry = section.entry("audiences") else {
      if production, !section.reading.survey {
        section.reading.mistake(
          "attest.audiences", section.here, "the base URL of the clients is missing",
          "write it as the app has it, such as [\"https://api.example.com\"]")
      }
      return ["http://\(whole.listen)"]
    }
    let all = entry.strings().compactMap { text, entry -> String? in
      guard let base = BaseURL(text) else {
        entry.reading.mistake(
          entry, "this is no base URL", "write scheme and host, without a slash at the end")
        return nil
      }
      if production, base.scheme != "https" {
        entry.reading.mistake(entry, "production needs https", "write https://\(base.authority)\(base.path)")
      }
      return text
    }
    if all.isEmpty || all.count > 8 {
      section.reading.mistake(
        entry, "from 1 to 8 base URLs belong here", "write those that apps are built with")
    }
    return all
  }

  private static func app(_ section: ConfigurationSection) -> Attest.App? {
    var environments: Set<AttestEnvironment> = [.production]
    if let entry = section.entry("environments") {
      environments = Set((entry.list() ?? []).compactMap { $0.choice(AttestEnvironment.self) })
      if environments.isEmpty {
        section.reading.mistake(entry, "no environment is named", "write [\"production\"]")
      }
    }
    let client = clientID(section)
    guard let entry = section.entry("app_id") else {
      if !section.reading.survey {
        section.reading.mistake(
          "\(section.path).app_id", section.here, "the app id is missing",
          "write \"app_id\": \"TEAMID1234.com.example.app\"")
      }
      return nil
    }
    guard let text = entry.string() else { return nil }
    let prefix = text.prefix { $0 != "." }
    let bundle = text.dropFirst(prefix.count + 1)
    let letters = { (byte: UInt8) in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
    guard prefix.utf8.count == 10, prefix.utf8.allSatisfy(letters), !bundle.isEmpty, text.utf8.count <= 255,
      bundle.utf8.allSatisfy({ letters($0) || $0 == 0x2D || $0 == 0x2E })
    else {
      section.reading.mistake(
        entry, "this is no app id",
        "write the App ID prefix (10 letters and digits), a dot and the bundle id")
      return nil
    }
    return Attest.App(appID: text, environments: environments, clientID: client)
  }

  private static func clientID(_ section: ConfigurationSection) -> String? {
    guard let entry = section.entry("client_id"), let text = entry.string() else { return nil }
    guard AnthropicClient.isID(text) else {
      section.reading.mistake(
        entry, "this is no client id",
        "write 1 to 128 letters, digits, `_`, `-` and `.`, such as \"clid_example\"")
      return nil
    }
    return text
  }

  /// What apps that speak Anthropic's flow need beside their client id.
  static func checkClients(_ root: ConfigurationSection, _ whole: Configuration) {
    let clients = whole.attest.apps.compactMap(\.clientID)
    guard !clients.isEmpty, !root.reading.survey else { return }
    if Set(clients).count < clients.count {
      root.reading.mistake(
        "attest.apps", root.here, "two apps have one client id", "give each app a client_id of its own")
    }
    if whole.anthropic?.policy != .session {
      root.reading.mistake(
        "attest.apps", root.here,
        "a client_id lets an app get session tokens, which Anthropic's routes do not take",
        "write \"policy\": \"session\" in providers.anthropic, or remove client_id")
    }
  }

  private static func simulatorRoot(
    _ section: ConfigurationSection, _ deployment: Deployment
  ) -> Attest.SimulatorRoot? {
    defer { section.finish() }
    let fingerprint = section.entry("fingerprint")
    let certificate = section.entry("certificate")
    if section.reading.survey { return nil }
    if deployment == .production {
      section.reading.mistake(
        section.path, section.here, "production trusts Apple alone", "remove the section")
      return nil
    }
    guard let fingerprint, let certificate else {
      section.reading.mistake(
        section.path, section.here, "fingerprint and certificate belong together", "write both")
      return nil
    }
    let octets = fingerprint.string().flatMap { Hex.decode($0.replacing(":", with: "")) }
    guard let path = certificate.string() else { return nil }
    guard let pem = section.reading.sources.readFile(path) else {
      section.reading.mistake(certificate, "the file cannot be read", "name a PEM file")
      return nil
    }
    guard let roots = try? Certificate.all(pem: String(decoding: pem, as: UTF8.self)), roots.count == 1,
      let root = roots.first
    else {
      section.reading.mistake(
        certificate, "the file holds no certificate", "name a PEM file with exactly one")
      return nil
    }
    guard octets == root.fingerprint else {
      section.reading.mistake(
        fingerprint, "this is not the certificate's fingerprint",
        "write \(Hex.encode(root.fingerprint)), if that is the simulator's")
      return nil
    }
    return Attest.SimulatorRoot(certificate: root.der)
  }
}
