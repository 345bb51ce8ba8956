import Encodings
import SignInWithApple

extension Configuration.Attest {
  /// `attest.apple_key`: a key of the team that is enabled for DeviceCheck, by which Apple is asked about devices.
  package struct AppleKey: Sendable, Equatable {
    package var teamID: String
    package var keyID: String
    package var privateKey: Secret

    package init(teamID: String, keyID: String, privateKey: Secret) {
      self.teamID = teamID
      self.keyID = keyID
      self.privateKey = privateKey
    }
  }

  /// `attest.receipts`: how receipts are refreshed.
  package struct Receipts: Sendable, Equatable {
    /// Days between two exchanges of a key's receipt.
    package var refreshDays: Int64 = 7
    /// Keys that were not used for so many days are left alone.
    package var activeDays: Int64 = 14
    /// Exchanges a minute, of all nodes together.
    package var perMinute: Int64 = 600

    package init() {}
  }
}

extension Configuration {
  /// Reads what is about asking Apple out of `attest`.
  static func devices(_ section: ConfigurationSection, _ out: inout Attest) {
    let key = section.section("apple_key")
    if key.isPresent { out.appleKey = appleKey(key) }
    let receipts = section.section("receipts")
    if let value = receipts.entry("refresh_days")?.integer(1...80) { out.receipts.refreshDays = value }
    if let value = receipts.entry("active_days")?.integer(1...90) { out.receipts.activeDays = value }
    if let value = receipts.entry("per_minute")?.integer(1...6_000) { out.receipts.perMinute = value }
    receipts.finish()
    guard let entry = section.entry("device_check"), let value = entry.bool() else { return }
    out.deviceCheck = value
    if value, !key.isPresent {
      section.reading.mistake(
        entry, "DeviceCheck needs the team's key", "write attest.apple_key as well, or remove this")
    }
  }

  private static func appleKey(_ section: ConfigurationSection) -> Attest.AppleKey? {
    defer { section.finish() }
    let reading = section.reading
    let entries = ["team_id", "key_id"].map { ($0, section.entry($0)) }
    let privateKey = section.secret("private_key", isText: true)
    if section.survey { return nil }
    let ids = entries.map { name, entry -> String? in
      guard let entry else {
        reading.mistake(
          "\(section.path).\(name)", section.here, "it is missing",
          "write the 10 letters and digits of \(name) from Apple's portal")
        return nil
      }
      guard let text = entry.string() else { return nil }
      if !isAppleIdentifier(text) {
        reading.mistake(
          entry, "this is none of Apple's ids",
          "write the 10 letters and digits of \(name) from Apple's portal")
      }
      return text
    }
    guard let privateKey else { return nil }
    do {
      _ = try ApplePrivateKey.read(privateKey.value)
    } catch {
      reading.mistake(
        section.path + ".private_key", section.here, "this is no key of Apple's (\(error))",
        "give the content of the .p8 file as it was downloaded")
    }
    guard let teamID = ids[0], let keyID = ids[1] else { return nil }
    return Attest.AppleKey(teamID: teamID, keyID: keyID, privateKey: privateKey)
  }
}
