import AppAttest
import Cryptography
import Encodings
import HTTPMessages
import Testing

@Suite("DeviceCheck") struct DeviceCheckTests {
  private func subject(_ token: String = "AAEC", _ environment: AttestEnvironment = .production)
    -> DeviceCheck.Subject?
  {
    UUID(random: [UInt8](repeating: 7, count: 16)).flatMap {
      DeviceCheck.Subject(token: token, environment: environment, transaction: $0, now: 1_800_000_000_123)
    }
  }

  private func token() throws -> AppleServiceToken {
    try AppleServiceKey(teamID: "TEAM123456", keyID: "KEY1234567", key: try P256.PrivateKey()).token(now: 5)
  }

  @Test("Requests are as Apple documents them, at the host of the environment")
  func requests() async throws {
    let requests = DeviceCheck()
    let query = requests.query(try #require(subject()), token: try token())
    #expect(query.authority == "api.devicecheck.apple.com")
    #expect(query.target == "/v1/query_two_bits")
    #expect(query.method == .post)
    #expect(query.fields["authorization"]?.hasPrefix("Bearer ey") == true)
    let body = try JSONReader.read(try await query.body.collect(upTo: 4_096))
    #expect(body["device_token"]?.string == "AAEC")
    #expect(body["timestamp"]?.integer == 1_800_000_000_123)
    #expect(body["transaction_id"]?.string.flatMap { UUID($0) } != nil)
    #expect(body.members?.count == 3)
    let update = requests.update(
      try #require(subject("AAEC", .development)), bit0: true, bit1: false, token: try token())
    #expect(update.authority == "api.development.devicecheck.apple.com")
    let bits = try JSONReader.read(try await update.body.collect(upTo: 4_096))
    #expect(bits["bit0"]?.bool == true)
    #expect(bits["bit1"]?.bool == false)
    let validate = requests.validate(try #require(subject()), token: try token())
    #expect(validate.target == "/v1/validate_device_token")
    #expect(try JSONReader.read(try await validate.body.collect(upTo: 4_096)).members?.count == 3)
  }

  @Test(
    "What is no token is not sent on",
    arguments: ["", "a b", "a\nb", "{}", "ä", "a\"", String(repeating: "A", count: 8_193)])
  func noToken(_ text: String) {
    #expect(subject(text) == nil)
  }

  @Test("Bits, and never set, which is a 200 that is no JSON")
  func bits() throws {
    func read(_ text: String) throws -> DeviceBits? {
      try DeviceCheckAnswer.bits(status: 200, body: Array(text.utf8))
    }
    #expect(
      try read(#"{"bit0":false,"bit1":true,"last_update_time":"2026-11"}"#)
        == DeviceBits(bit0: false, bit1: true, lastUpdate: "2026-11"))
    #expect(try read("Failed to find bit state") == nil)
    #expect(try read("Bit State Not Found") == nil)
    for wrong in ["", "{}", "[]", #"{"bit0":1,"bit1":0}"#, "<html>", #"{"bit_0":true,"bit_1":true}"#, "null"]
    {
      #expect(throws: DeviceCheckRefusal.self, "\(wrong)") { try read(wrong) }
    }
  }

  @Test("Refusals are told apart: the token's, the operator's, the rest")
  func refusals() {
    func refusal(_ status: Int, _ text: String) -> DeviceCheckRefusal? {
      do throws(DeviceCheckRefusal) {
        _ = try DeviceCheckAnswer.bits(status: status, body: Array(text.utf8))
        return nil
      } catch { return error }
    }
    let token = "Missing or incorrectly formatted device token payload"
    #expect(refusal(400, token) == .deviceToken(detail: token))
    let authorization = "Missing or badly formatted authorization token"
    #expect(refusal(400, authorization) == .credentials(status: 400, detail: authorization))
    #expect(refusal(401, "x") == .credentials(status: 401, detail: "x"))
    #expect(refusal(403, "") == .credentials(status: 403, detail: nil))
    #expect(refusal(429, "") == .tooMany)
    #expect(refusal(500, "") == .other(status: 500, detail: nil))
    #expect(refusal(302, "") == .other(status: 302, detail: nil))
    // Nothing that a log could not hold.
    #expect(refusal(500, "a\u{0}\n\u{1B}[31m") == .other(status: 500, detail: "a???[31m"))
  }

  @Test("A device counts as known in the month of its last registration alone")
  func month() {
    let december: Int64 = 1_796_083_200  // 2026-12-01
    let bits = DeviceBits(bit0: true, bit1: false, lastUpdate: "2026-12")
    #expect(DeviceBits.month(of: december) == "2026-12")
    #expect(bits.saysKnown(now: december))
    #expect(!bits.saysKnown(now: december - 1))
    #expect(!DeviceBits(bit0: false, bit1: true, lastUpdate: "2026-12").saysKnown(now: december))
    #expect(!DeviceBits(bit0: true, bit1: true, lastUpdate: nil).saysKnown(now: december))
  }
}
