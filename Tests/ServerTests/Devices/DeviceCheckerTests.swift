import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite("DeviceCheck at registration") struct DeviceCheckerTests {
  private func server(
    apple: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    _ change: (inout Configuration) -> Void = { _ in }
  ) async throws -> DeviceServer {
    try await DeviceServer(
      {
        $0.attest.deviceCheck = true
        change(&$0)
      }, apple: apple)
  }

  /// Registers a new key of the device with a token.
  private func register(
    _ server: DeviceServer, _ device: SimulatedDevice? = nil, token: String?? = nil
  ) async throws -> (phone: Phone, status: Int) {
    let phone =
      if let device { try await Phone(server.whole, device: device) } else { try await Phone(server.whole) }
    var request = try await phone.registration()
    let body = try await request.body.collect(upTo: 1 << 16)
    var registration = try #require(Registration(body: body))
    registration.deviceToken = if let token { token } else { await phone.device.deviceToken() }
    request.body = HTTPBody(registration.json.bytes)
    let response = try await server.whole.send(request)
    await server.whole.background.drain()
    return (phone, response.status)
  }

  private func outcomes(_ server: DeviceServer) -> [String: Int] {
    server.counts(server.whole.server.metrics.deviceChecks)
  }

  private func known(_ server: DeviceServer, _ phone: Phone) async throws -> Int64? {
    try await server.column("k.known_device", phone)
  }

  @Test("A new device is noted at Apple; its app installed anew is known in that month, and new in the next")
  func months() async throws {
    let server = try await server()
    let (first, status) = try await register(server)
    #expect(status == 201)
    #expect(try await known(server, first) == 0)
    let bits = await server.whole.devices.bits(of: first.device.deviceID)
    #expect(bits == .init(bit0: true, bit1: false, lastUpdate: DeviceBits.month(of: server.clock.seconds)))
    await first.device.loseKeys()
    let (second, _) = try await register(server, first.device)
    #expect(try await known(server, second) == 1)
    #expect(try await server.column("k.device_bits", second) == 1)
    // No question beyond the one about the bits: there was nothing to note.
    #expect(
      server.asked.map { $0.target.split(separator: "/").last.map(String.init) ?? "" } == [
        "query_two_bits", "update_two_bits", "query_two_bits",
      ])
    server.clock.advance(seconds: 40 * 86_400)
    let (third, _) = try await register(server, first.device)
    #expect(try await known(server, third) == 0)
    #expect(outcomes(server) == ["new": 2, "known": 1])
  }

  @Test("The operator's own bit is passed on as it is")
  func operatorsBit() async throws {
    let server = try await server()
    let phone = try await Phone(server.whole)
    await server.whole.devices.setBits(
      .init(bit0: false, bit1: true, lastUpdate: "2020-01"), of: phone.device.deviceID)
    let (second, _) = try await register(server, phone.device)
    #expect(await server.whole.devices.bits(of: phone.device.deviceID)?.bit1 == true)
    #expect(try await server.column("k.device_bits", second) == 2)
  }

  /// What Apple answers, and what becomes of it.
  struct Case: Sendable, CustomTestStringConvertible {
    let status: Int
    var body = ""
    let outcome: String
    var alarms = 0
    var testDescription: String { "\(status) \(body.prefix(40))" }
  }

  @Test(
    "Whatever Apple answers, the registration stands, and nothing is known of the device",
    arguments: [
      Case(
        status: 400, body: "Missing or incorrectly formatted device token payload", outcome: "device_token"),
      Case(
        status: 400, body: "Missing or badly formatted authorization token", outcome: "credentials", alarms: 1
      ),
      Case(status: 401, body: "Unable to verify authorization token", outcome: "credentials", alarms: 1),
      Case(status: 403, outcome: "credentials", alarms: 1), Case(status: 429, outcome: "too_many"),
      Case(status: 500, outcome: "failed"), Case(status: 503, outcome: "failed"),
      Case(status: 200, body: "<html>", outcome: "failed"),
      Case(status: 200, body: #"{"bit0":"true"}"#, outcome: "failed"),
      Case(status: 200, body: String(repeating: "x", count: 10_000), outcome: "failed"),
    ])
  func failures(_ answer: Case) async throws {
    let server = try await server(apple: { _ in
      HTTPResponse(status: answer.status, body: HTTPBody(answer.body))
    })
    let (phone, status) = try await register(server)
    #expect(status == 201)
    #expect(try await known(server, phone) == nil)
    #expect(outcomes(server) == [answer.outcome: 1])
    #expect(server.alarms == answer.alarms)
    #expect(server.asked.count == 1)
    #expect(try await phone.ask().status == 200)
  }

  @Test("No answer, and an update that fails, do not hurt either")
  func halves() async throws {
    let silent = try await server(apple: { _ in throw HTTPClientError.timedOut(.head) })
    #expect(try await register(silent).status == 201)
    #expect(outcomes(silent) == ["failed": 1])
    let half = try await server(apple: { request in
      request.target.hasSuffix("query_two_bits")
        ? HTTPResponse(status: 200, body: HTTPBody("Bit State Not Found")) : HTTPResponse(status: 500)
    })
    let (phone, _) = try await register(half)
    #expect(outcomes(half) == ["not_noted": 1])
    #expect(try await known(half, phone) == 0)
  }

  @Test("Not configured, no token, no new key, nonsense for a token: Apple is asked nothing")
  func silence() async throws {
    let off = try await DeviceServer()
    #expect(try await register(off).status == 201)
    #expect(off.asked.isEmpty)
    let server = try await server()
    #expect(try await register(server, token: .some(nil)).status == 201)
    #expect(server.asked.isEmpty)
    for nonsense in ["", "a\r\nb", "\"}", String(repeating: "A", count: 8_193)] {
      #expect(try await register(server, token: nonsense).status == 201)
    }
    #expect(server.asked.isEmpty)
    #expect(outcomes(server) == ["device_token": 4])
    // The same registration sent again, as after a lost answer.
    let phone = try await Phone(server.whole)
    var request = try await phone.registration()
    let body = try await request.body.collect(upTo: 1 << 16)
    var registration = try #require(Registration(body: body))
    registration.deviceToken = await phone.device.deviceToken()
    request.body = HTTPBody(registration.json.bytes)
    #expect(try await server.whole.send(request).status == 201)
    #expect(try await server.whole.send(request).status == 200)
    await server.whole.background.drain()
    #expect(server.asked.count == 2)
  }

  @Test("A token of another device of the team is one; that of another authority is none")
  func foreign() async throws {
    let server = try await server()
    let clock = server.clock
    let stranger = try SimulatedDevice(
      authority: try SimulatedAppleCA(now: clock.seconds), app: WholeServer.app, now: { clock.seconds })
    let (phone, status) = try await register(server, token: await stranger.deviceToken())
    #expect(status == 201)
    #expect(try await known(server, phone) == nil)
    #expect(outcomes(server) == ["device_token": 1])
    // One that came too late.
    let late = await phone.device.deviceToken()
    clock.advance(seconds: 120)
    #expect(try await register(server, token: late).status == 201)
    #expect(outcomes(server) == ["device_token": 2])
  }

  @Test("The SDK sends a token where its options say so, and none otherwise")
  func client() async throws {
    let server = try await server()
    try await server.whole.client().register()
    await server.whole.background.drain()
    #expect(server.asked.isEmpty)
    try await server.whole.client { $0.sendsDeviceToken = true }.register()
    await server.whole.background.drain()
    #expect(outcomes(server) == ["new": 1])
  }
}
