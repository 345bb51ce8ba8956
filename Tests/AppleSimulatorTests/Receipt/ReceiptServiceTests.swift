import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@Suite("The simulated service of receipts")
struct ReceiptServiceTests {
  static let start: Int64 = 1_790_000_000
  static let authority = try? SimulatedAppleCA(now: start)
  let clock = FixedClock(seconds: start)
  let hash = SHA256.hash("what is signed")

  func service(isProduction: Bool = false) throws -> SimulatedReceiptService {
    let clock = clock
    return SimulatedReceiptService(
      authority: try #require(Self.authority), isProduction: isProduction, now: { clock.seconds })
  }

  /// The receipt of the last of so many keys of one device, with the key's row.
  func receipt(keys: Int) async throws -> (receipt: [UInt8], key: DeviceKey) {
    let authority = try #require(Self.authority)
    let clock = clock
    let device = try SimulatedDevice(
      authority: authority, app: SimulatedApp(id: "TEAM123456.com.example.app"), now: { clock.seconds })
    var keyID = ""
    var attestation: [UInt8] = []
    for _ in 0..<keys {
      keyID = try await device.generateKey()
      attestation = try await device.attestKey(keyID, clientDataHash: hash)
    }
    let app = AcceptedApp(id: "TEAM123456.com.example.app", environments: [.development])
    let verified = try AttestationVerifier(
      apps: [app], anchors: [TrustAnchor(try Certificate(der: authority.root))]
    ).verify(
      attestation, clientDataHash: hash, keyID: try #require(Base64.decode(keyID)), now: clock.seconds)
    return (verified.receipt, verified.key)
  }

  func ask(_ service: SimulatedReceiptService, _ body: String, token: String? = "e30.e30.AA") async throws
    -> HTTPResponse
  {
    var fields = HTTPFields()
    fields["authorization"] = token
    return try await service.respond(
      to: HTTPRequest(
        method: .post, target: "/v1/attestationData", fields: fields, body: HTTPBody(body)))
  }

  @Test("a first receipt is exchanged for one with the risk metric, and that one again after a day")
  func exchange() async throws {
    let (receipt, key) = try await receipt(keys: 3)
    let service = try service()
    clock.advance(seconds: 60)
    let answer = try await ask(service, Base64.encode(receipt))
    #expect(answer.status == 200)
    let text = try await answer.body.collect(upTo: 65_536)
    let verifier = ReceiptVerifier(
      anchors: [TrustAnchor(try Certificate(der: try #require(Self.authority).root))])
    let fresh = try verifier.verify(
      try #require(Base64.decode(text)), kind: .receipt, key: key, clientDataHash: nil, now: clock.seconds)
    #expect(fresh.riskMetric == 3)
    #expect(fresh.notBefore == fresh.creation + 86_400)
    let again = String(decoding: text, as: UTF8.self)
    #expect(try await ask(service, again).status == 304)
    clock.advance(seconds: 86_400)
    #expect(try await ask(service, again).status == 200)
    clock.advance(seconds: 90 * 86_400)
    #expect(try await ask(service, again).status == 404)
  }

  @Test("what is no receipt of this authority and environment is refused")
  func refused() async throws {
    let (receipt, _) = try await receipt(keys: 1)
    let text = Base64.encode(receipt)
    #expect(try await ask(try service(), text, token: nil).status == 401)
    #expect(try await ask(try service(), text, token: "Bearer x").status == 401)
    #expect(try await ask(try service(isProduction: true), text).status == 400)
    #expect(try await ask(try service(), String(decoding: receipt, as: UTF8.self)).status == 400)
    #expect(try await ask(try service(), "AAAA").status == 400)
    var broken = receipt
    broken[broken.count - 8] ^= 1
    #expect(try await ask(try service(), Base64.encode(broken)).status == 400)
    let clock = clock
    let other = SimulatedReceiptService(
      authority: try SimulatedAppleCA(now: Self.start), isProduction: false, now: { clock.seconds })
    #expect(try await ask(other, text).status == 400)
  }
}
