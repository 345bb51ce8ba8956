import Accounts
import Cryptography
import Encodings
import SignInWithApple

extension Configuration {
  /// Reads `auth`.
  static func auth(_ section: ConfigurationSection, _ whole: Configuration) -> Auth {
    var out = Auth()
    if let entry = section.entry("site_url"), let text = entry.string() {
      out.siteURL = text
      if !RedirectList.isURL(text) {
        section.reading.mistake(entry, "this is no URL", "write \"https://app.example.com\"")
      }
    }
    if let entry = section.entry("redirects") { out.redirects = redirects(entry, whole.deployment) }
    if let value = section.entry("anonymous")?.bool() { out.anonymous = value }
    if let value = section.entry("anonymous_idle_days")?.integer(180...36_500) {
      out.anonymousIdleDays = value
    }
    if let value = section.entry("sign_ups")?.bool() { out.signUps = value }
    if let value = section.entry("manual_linking")?.bool() { out.manualLinking = value }
    if let value = section.entry("access_token_lifetime")?.integer(300...86_400) {
      out.accessTokenLifetime = value
    }
    if let entry = section.entry("issuer"), let text = entry.string() {
      out.issuer = text
      if BaseURL(text) == nil {
        section.reading.mistake(
          entry, "this is no issuer", "write a URL without a slash at its end, or remove the key")
      }
    }
    if let value = section.entry("session_lifetime")?.integer(300...315_360_000) {
      out.sessionLifetime = value
    }
    if let value = section.entry("session_inactivity")?.integer(300...315_360_000) {
      out.sessionInactivity = value
    }
    if let value = section.entry("bind_refresh")?.choice(RefreshBinding.self) { out.bindRefresh = value }
    if let value = section.entry("email_matching")?.bool() { out.emailMatching = value }
    if let value = section.entry("step_up_maximum_age")?.integer(30...86_400) { out.stepUpMaximumAge = value }
    let deletion = section.section("deletion")
    if let value = deletion.entry("revocation")?.choice(Deletion.Policy.self) { out.deletionPolicy = value }
    deletion.finish()
    if let routes = section.objects("step_up_routes", { stepUpRoute($0) }) { out.stepUpRoutes = routes }
    out.sealingKeys = sealingKeys(section.section("sealing"))
    let apple = section.section("apple")
    if apple.isPresent { out.apple = Self.apple(apple, whole, isSealed: !out.sealingKeys.isEmpty) }
    let limits = section.section("limits")
    if let value = limits.entry("anonymous_per_hour")?.integer(1...100_000) { out.anonymousPerHour = value }
    if let value = limits.entry("refreshes_per_minute")?.integer(1...10_000) {
      out.refreshesPerMinute = value
    }
    limits.finish()
    section.finish()
    return out
  }

  private static func redirects(_ entry: ConfigurationEntry, _ deployment: Deployment) -> RedirectList {
    RedirectList(
      entry.strings().compactMap { text, entry in
        guard let rule = RedirectList.Rule(text) else {
          entry.reading.mistake(
            entry, "this is no URL to redirect to",
            "write scheme, host and path such as \"com.example.app://signed-in\"; * and ** are for the path")
          return nil
        }
        if rule.isClear, deployment == .production {
          entry.reading.mistake(
            entry, "production redirects by https or an app's own scheme", "write https://…")
        }
        return rule
      })
  }

  private static func sealingKeys(_ section: ConfigurationSection) -> [Auth.SealingKey] {
    defer { section.finish() }
    let keys = ["current", "previous"].compactMap { name -> Auth.SealingKey? in
      let inner = section.section(name)
      defer { inner.finish() }
      guard inner.isPresent else { return nil }
      let label = inner.entry("name")?.string()
      let secret = inner.secret("key")
      if section.reading.survey { return nil }
      guard let label, (1...32).contains(label.utf8.count), label.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
      else {
        section.reading.mistake(
          inner.path + ".name", inner.here, "the key has no name", "write 1 to 32 letters and digits")
        return nil
      }
      guard let secret else { return nil }
      guard Sealer.octets(secret) != nil else {
        section.reading.mistake(
          inner.path + ".key", inner.here, "this is no key of 32 octets",
          "make one with `openssl rand -base64 32`")
        return nil
      }
      return Auth.SealingKey(name: label, key: secret)
    }
    if keys.count == 2, keys[0].name == keys[1].name {
      section.reading.mistake(section.path, section.here, "both keys have one name", "name each by itself")
    }
    return keys
  }

  private static func apple(
    _ section: ConfigurationSection, _ whole: Configuration, isSealed: Bool
  ) -> Auth.Apple? {
    defer { section.finish() }
    let team = section.entry("team_id")
    let key = section.entry("key_id")
    let keyIsWritten = section.survey || section.hasSecret("private_key")
    let privateKey = keyIsWritten ? section.secret("private_key", isText: true) : nil
    let teamID = team?.string() ?? ""
    let clients = section.objects("clients") { client($0, teamID) }
    var out = Auth.Apple(teamID: teamID, clients: clients ?? [])
    if let entry = section.entry("issuers") { out.issuers = entry.strings().map(\.text) }
    if let value = section.entry("require_challenge")?.bool() { out.requireChallenge = value }
    if let entry = section.entry("base_url"), let text = entry.string() {
      out.baseURL = text
      if BaseURL(text)?.isLoopback != true || whole.deployment == .production {
        section.reading.mistake(
          entry, "Apple is at Apple",
          "remove the key; in development it may name a simulated Apple on this machine")
      }
    }
    if let value = section.entry("identities_per_user")?.integer(1...10) {
      out.identitiesPerUser = Int(value)
    }
    if let value = section.entry("on_consent_revoked")?.choice(AppleEventPolicy.ConsentWithdrawal.self) {
      out.onConsentRevoked = value
    }
    if let value = section.entry("on_account_deleted")?.choice(AppleEventPolicy.AccountDeletion.self) {
      out.onAccountDeleted = value
    }
    if section.survey { return nil }
    out.keyID = key?.string()
    out.privateKey = privateKey
    let reading = section.reading
    for (entry, name) in [(team, "team_id"), (key, "key_id")] {
      guard let entry, let text = entry.string(), !isAppleIdentifier(text) else { continue }
      reading.mistake(
        entry, "this is none of Apple's ids", "write the 10 letters and digits of \(name) from Apple's portal"
      )
    }
    if team == nil {
      reading.mistake(
        section.path + ".team_id", section.here, "the team is missing", "write \"team_id\": \"TEAMID1234\"")
    }
    if out.clients.isEmpty {
      reading.mistake(
        section.path + ".clients", section.here, "no client is named, so no identity token is accepted",
        "write [{ \"id\": \"com.example.app\", \"kind\": \"native\" }]")
    }
    if (key == nil) != !keyIsWritten {
      reading.mistake(
        section.path, section.here, "key_id and private_key belong together", "write both, or none")
    }
    if let privateKey {
      do {
        _ = try ApplePrivateKey.read(privateKey.value)
      } catch {
        reading.mistake(
          section.path + ".private_key", section.here, "this is no key of Apple's (\(error))",
          "give the content of the .p8 file as it was downloaded")
      }
    }
    if keyIsWritten, whole.deployment == .production, !isSealed {
      reading.mistake(
        "auth.sealing.current", section.here, "Apple's refresh tokens would be kept in clear",
        "write { \"name\": \"2026\", \"key\": { \"env\": \"NAME\" } }, made with `openssl rand -base64 32`")
    }
    return out
  }

  private static func client(_ section: ConfigurationSection, _ teamID: String) -> AppleClient? {
    let id = section.entry("id")
    let kind = section.entry("kind")
    if section.survey { return nil }
    guard let id, let text = id.string(), !text.isEmpty, text.utf8.count <= 255,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else {
      section.reading.mistake(
        section.path + ".id", id?.place ?? section.here, "the client has no id",
        "write the bundle id of an app, or a Services ID")
      return nil
    }
    guard let kind = kind.map({ $0.choice(AppleClient.Kind.self) }) ?? .native else { return nil }
    return AppleClient(clientID: text, kind: kind, teamID: teamID)
  }

  /// Team ids and key ids.
  static func isAppleIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
      }
  }
}
