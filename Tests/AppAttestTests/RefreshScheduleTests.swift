import AppAttest
import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import Testing

@Suite("When receipts are refreshed") struct RefreshScheduleTests {
  static let day: Int64 = 86_400
  static let made: Int64 = 1_800_000_000

  private func receipts() async throws -> (first: Receipt, stored: StoredReceipt, authority: SimulatedAppleCA)
  {
    let authority = try SimulatedAppleCA(now: Self.made)
    let device = try SimulatedDevice(
      authority: authority, app: SimulatedApp(id: "TEAM123456.com.example.app"), now: { Self.made })
    let keyID = try await device.generateKey()
    let hash = SHA256.hash("x")
    let attestation = try await device.attestKey(keyID, clientDataHash: hash)
    let verified = try AttestationVerifier(
      apps: [AcceptedApp(id: "TEAM123456.com.example.app", environments: [.development])],
      anchors: [TrustAnchor(try Certificate(der: authority.root))]
    ).verify(
      attestation, clientDataHash: hash, keyID: try #require(Base64.decode(keyID)), now: Self.made)
    let stored = StoredReceipt(
      id: 1, key: verified.key, receipt: verified.receipt, fetchedAt: nil, failures: 0)
    return (try #require(stored.content), stored, authority)
  }

  static let refusals: [ReceiptRefusal] = [
    .tooEarly, .otherEnvironment, .notTaken(status: 400, detail: nil), .credentials(status: 401, detail: nil),
    .unknownKey, .tooMany(retryAfter: nil), .retryable(status: 500, retryAfter: nil), .noAnswer,
    .invalid(.badSignature), .notNewer,
  ]

  @Test("At any time, after any refusal, the next time is later, or never", arguments: refusals)
  func later(_ refusal: ReceiptRefusal) async throws {
    let receipt = try await receipts().first
    let schedule = RefreshSchedule(interval: 7 * Self.day)
    for hours in stride(from: Int64(-48), through: 95 * 24, by: 7) {
      let now = Self.made + hours * 3_600
      for (failures, random) in [(Int64(0), UInt64(0)), (3, .max), (60, 12_345), (.max, 1), (-5, .max / 2)] {
        let next = schedule.next(
          after: refusal, of: receipt, failures: failures, now: now, random: random)
        if let next { #expect(next >= now + 30 && next < Self.made + 90 * Self.day) }
        if now >= Self.made + 90 * Self.day { #expect(next == nil) }
        let blind = schedule.next(after: refusal, of: nil, failures: failures, now: now, random: random)
        #expect(blind.map { $0 >= now + 30 } == true)
      }
    }
  }

  @Test("After a new receipt: between Apple's not before and its expiration, for any interval and clock")
  func fresh() async throws {
    let (first, stored, authority) = try await receipts()
    _ = first
    let service = SimulatedReceiptService(authority: authority, isProduction: false, now: { Self.made + 60 })
    let key = AppleServiceKey(teamID: "TEAM123456", keyID: "KEY1234567", key: try P256.PrivateKey())
    let exchange = ReceiptExchange(
      verifier: ReceiptVerifier(anchors: [TrustAnchor(try Certificate(der: authority.root))]))
    let request = exchange.request(stored, token: try key.token(now: Self.made))
    #expect(request.authority == "data-development.appattest.apple.com")
    #expect(request.scheme == "https")
    #expect(request.target == "/v1/attestationData")
    let response = try await service.respond(to: request)
    let fresh = try exchange.judge(
      stored, status: response.status, fields: response.fields,
      body: try await response.body.collect(upTo: 1 << 17), now: Self.made + 60)
    let notBefore = try #require(fresh.receipt.notBefore)
    for days in [Int64(1), 7, 80, 400] {
      for random in [UInt64(0), 1, .max, 999_999_999] {
        for now in [Self.made + 60, Self.made - 86_400] {
          let schedule = RefreshSchedule(interval: days * Self.day)
          let next = try #require(schedule.next(after: fresh.receipt, now: now, random: random))
          #expect(next >= notBefore)
          #expect(next < Self.made + 90 * Self.day)
        }
      }
    }
    let over = RefreshSchedule(interval: Self.day).next(
      after: fresh.receipt, now: Self.made + 91 * Self.day, random: 0)
    #expect(over == nil)
    #expect(RefreshSchedule(interval: .max).next(after: fresh.receipt, now: .max, random: 0) == nil)
    // A truncation at any octet is no receipt, and says so.
    for length in stride(from: 0, to: fresh.bytes.count, by: 17) {
      #expect(throws: ReceiptRefusal.self) {
        try exchange.judge(
          stored, status: 200, fields: [:], body: Array(Base64.encode(Array(fresh.bytes[..<length])).utf8),
          now: Self.made + 60)
      }
    }
    // Line ends in the base64 are Apple's business.
    let text = Base64.encode(fresh.bytes)
    let wrapped = text.enumerated().map { ($0.offset % 64 == 63 ? "\($0.element)\r\n" : "\($0.element)") }
      .joined()
    #expect(
      throws: Never.self,
      performing: {
        try exchange.judge(
          stored, status: 200, fields: [:], body: Array((wrapped + "\n").utf8), now: Self.made + 60)
      })
    // Five minutes, as any receipt that arrives.
    #expect(throws: ReceiptRefusal.invalid(.tooOld)) {
      try exchange.judge(stored, status: 200, fields: [:], body: Array(text.utf8), now: Self.made + 500)
    }
    var other = stored
    other.key.appID = "TEAM123456.com.example.other"
    #expect(throws: ReceiptRefusal.invalid(.appMismatch)) {
      try exchange.judge(other, status: 200, fields: [:], body: Array(text.utf8), now: Self.made + 60)
    }
  }

  @Test("The team's token has iss, iat and kid, no typ and no expiry; nothing of the key is ever told")
  func token() throws {
    let private_ = try P256.PrivateKey()
    let key = AppleServiceKey(teamID: "TEAM123456", keyID: "KEY1234567", key: private_)
    let stored = StoredReceipt(
      id: 1,
      key: DeviceKey(
        keyID: [], publicKey: [], appID: "", environment: .production, anchor: [], registeredAt: 0),
      receipt: [1, 2, 3], fetchedAt: nil, failures: 0)
    let token = try key.token(now: 1_800_000_000)
    let request = ReceiptExchange(verifier: ReceiptVerifier()).request(stored, token: token)
    #expect(request.authority == "data.appattest.apple.com")
    let text = try #require(request.fields["authorization"])
    let parsed = try JWS.Compact(parsing: text)
    try ES256.verify(parsed, key: try private_.publicKey)
    #expect(parsed.header.kid == "KEY1234567")
    let claims = try parsed.claims
    #expect(claims["iss"]?.string == "TEAM123456")
    #expect(claims["iat"]?.integer == 1_800_000_000)
    #expect(claims.members?.count == 2)
    #expect("\(key) \(token)".contains(text) == false)
    var dumped = ""
    dump(key, to: &dumped)
    dump(token, to: &dumped)
    #expect(!dumped.contains(text) && !dumped.contains("PRIVATE"))
  }
}
