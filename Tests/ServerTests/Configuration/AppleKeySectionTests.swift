import Cryptography
import Testing

@testable import Server

private let appleKey = (try? P256.PrivateKey().pem) ?? ""

private func read(
  _ members: String, for reader: Configuration.Reader = .server, _ variables: [String: String] = [:]
) throws(ConfigurationMistakes) -> Configuration.Attest {
  let text = """
    {
      "environment": "production",
      "attest": {
        "audiences": ["https://api.example.com"], "apps": [{ "app_id": "ABCDE12345.com.example.app" }]\(members)
      }
    }
    """
  return try Configuration.read(
    ConfigurationSources(
      text: Array(text.utf8), variables: variables,
      readFile: { $0 == "/key.p8" ? Array(appleKey.utf8) : $0 == "/other" ? [0x78] : nil }), for: reader
  ).attest
}

private func mistakes(_ members: String) -> [String] {
  do {
    _ = try read(members)
    return []
  } catch {
    return error.mistakes.map(\.path)
  }
}

@Suite struct AppleKeySectionTests {
  private let whole = """
    , "apple_key": { "team_id": "TEAM123456", "key_id": "KEY1234567", "private_key": { "file": "/key.p8" } }
    """

  @Test("without the section Apple is asked nothing; with it the defaults hold")
  func defaults() throws {
    let none = try read("")
    #expect(none.appleKey == nil)
    #expect(none.deviceCheck == false)
    let attest = try read(whole)
    #expect(attest.appleKey?.teamID == "TEAM123456")
    #expect(attest.appleKey?.keyID == "KEY1234567")
    #expect(attest.receipts == Configuration.Attest.Receipts())
    #expect(attest.deviceCheck == false)
    let more = try read(
      whole
        + ", \"receipts\": { \"refresh_days\": 1, \"active_days\": 30, \"per_minute\": 60 }, \"device_check\": true"
    )
    #expect(more.receipts.refreshDays == 1)
    #expect(more.receipts.activeDays == 30)
    #expect(more.receipts.perMinute == 60)
    #expect(more.deviceCheck)
  }

  @Test("every mistake is named")
  func wrong() {
    #expect(
      mistakes(", \"apple_key\": {}") == [
        "attest.apple_key.private_key", "attest.apple_key.team_id", "attest.apple_key.key_id",
      ])
    let short = whole.replacing("TEAM123456", with: "TEAM").replacing("KEY1234567", with: "KEY 123456")
    #expect(mistakes(short) == ["attest.apple_key.team_id", "attest.apple_key.key_id"])
    #expect(mistakes(whole.replacing("/key.p8", with: "/other")) == ["attest.apple_key.private_key"])
    #expect(mistakes(whole.replacing("/key.p8", with: "/none")) == ["attest.apple_key.private_key.file"])
    #expect(mistakes(", \"device_check\": true") == ["attest.device_check"])
    #expect(
      mistakes(", \"receipts\": { \"refresh_days\": 0, \"active_days\": 91, \"per_minute\": 0 }") == [
        "attest.receipts.refresh_days", "attest.receipts.active_days", "attest.receipts.per_minute",
      ])
  }

  @Test("a command on the database does without the server's secrets")
  func databaseCommand() {
    #expect(throws: Never.self) {
      try read(whole.replacing("\"file\": \"/key.p8\"", with: "\"env\": \"ABSENT\""), for: .databaseCommand)
    }
  }

  @Test("nothing shows the key")
  func secret() throws {
    let attest = try read(whole)
    var dumped = ""
    dump(attest, to: &dumped)
    #expect(!dumped.contains("PRIVATE") && !"\(attest)".contains("PRIVATE"))
  }
}
