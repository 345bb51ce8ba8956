import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct ExchangeTests {
  @Test("RULES §6.4: the log holds the route, never the query nor a credential")
  func log() async throws {
    let server = try BareServer()
    _ = try await server.ask(
      .get, "/health?token=secret-1",
      [
        "authorization": "Bearer secret-2", "x-api-key": "secret-3",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      ])
    _ = try await server.ask(.get, "/secret-4/x?y", ["x-attest-session": "secret-5"])
    let lines = try server.lines.values.map { try JSONReader.read(Array($0.utf8)) }
    #expect(lines.count == 2)
    #expect(!server.lines.values.joined().contains("secret"))
    #expect(lines[0]["route"]?.string == "/health")
    #expect(lines[0]["trace_id"]?.string == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(lines[0]["status"]?.integer == 200)
    #expect(lines[0]["time"]?.string == "2026-11-30T12:00:00.000Z")
    #expect(lines[1]["route"]?.string == "none")
    #expect(lines[1]["code"]?.string == "not_found")
  }

  @Test(
    "a malformed traceparent is dropped",
    arguments: [
      "", "00-", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01",
    ])
  func trace(_ value: String) async throws {
    let server = try BareServer()
    _ = try await server.ask(.get, "/health", ["traceparent": value])
    #expect(server.lines.values.allSatisfy { !$0.contains("trace_id") })
  }

  private func address(
    _ peer: String, _ forwarded: [String], trusting blocks: [String] = ["10.0.0.0/8", "::1"]
  ) -> String {
    var fields = HTTPFields()
    for value in forwarded { fields.append("X-Forwarded-For", value) }
    return ClientAddress.of(
      HTTPRequest(method: .get, target: "/", fields: fields, peer: peer),
      trusting: blocks.compactMap(AddressBlock.init))
  }

  @Test("a forwarding header counts only from a configured proxy")
  func forwarding() {
    #expect(address("203.0.113.9", ["1.2.3.4"]) == "203.0.113.9")
    #expect(address("10.0.0.1", ["1.2.3.4"]) == "1.2.3.4")
    #expect(address("10.0.0.1", ["6.6.6.6, 1.2.3.4"]) == "1.2.3.4", "what stands before is invented")
    #expect(address("10.0.0.1", ["6.6.6.6, 1.2.3.4, 10.9.9.9"]) == "1.2.3.4")
    #expect(address("10.0.0.1", ["6.6.6.6", "1.2.3.4"]) == "1.2.3.4")
    #expect(address("10.0.0.1", ["1.2.3.4, nonsense"]) == "10.0.0.1")
    #expect(address("10.0.0.1", []) == "10.0.0.1")
    #expect(address("::1", ["2001:db8::1"]) == "20010db800000000/64")
    #expect(address("::ffff:10.0.0.1", ["1.2.3.4"]) == "1.2.3.4")
    #expect(address("10.0.0.1", ["1.2.3.4"], trusting: []) == "10.0.0.1")
    #expect(address("nonsense", ["1.2.3.4"]) == "unknown")
  }

  @Test("RULES §5.1: a /64 is one address")
  func sixtyFour() {
    #expect(address("2001:db8:0:1::1", []) == address("2001:db8:0:1:ffff::2", []))
    #expect(address("2001:db8:0:1::1", []) != address("2001:db8:0:2::1", []))
  }

  @Test("a configured proxy names the request, a stranger does not")
  func requestID() async throws {
    let server = try BareServer { $0.trustedProxies = [AddressBlock("10.0.0.1")].compactMap(\.self) }
    func id(_ value: String, _ peer: String) async throws -> String? {
      try await server.ask(.get, "/health", ["x-request-id": value], peer: peer).fields["x-request-id"]
    }
    #expect(try await id("edge-1", "10.0.0.1") == "edge-1")
    #expect(try await id("edge-1", "10.0.0.2") != "edge-1")
    for odd in ["", "a b", "a\"b", String(repeating: "a", count: 65)] {
      #expect(try await id(odd, "10.0.0.1")?.utf8.count == 32)
    }
  }

  @Test("ids of later requests are greater")
  func ids() async throws {
    let server = try BareServer()
    let first = try await server.ask(.get, "/health").fields["x-request-id"]
    server.clock.advance(milliseconds: 1)
    let second = try await server.ask(.get, "/health").fields["x-request-id"]
    #expect(try #require(first) < #require(second))
  }
}

@Suite struct AddressLimiterTests {
  private let second: Int64 = 1_000_000_000

  @Test("a burst, then one an interval, and each address for itself")
  func burst() async {
    let limiter = AddressLimiter(requests: 3, per: 3 * second, siteFactor: 4)
    for _ in 0..<3 { #expect(await limiter.admit("a", now: 0) == nil) }
    #expect(await limiter.admit("a", now: 0) == second)
    #expect(await limiter.admit("b", now: 0) == nil)
    #expect(await limiter.admit("a", now: second - 1) == 1)
    #expect(await limiter.admit("a", now: second) == nil)
    #expect(await limiter.admit("a", now: second) != nil)
  }

  @Test("many at once cost as many")
  func amounts() async {
    let limiter = AddressLimiter(requests: 16, per: 16 * second, siteFactor: 4)
    #expect(await limiter.admit("a", amount: 10, now: 0) == nil)
    #expect(await limiter.admit("a", amount: 7, now: 0) == second)
    #expect(await limiter.admit("a", amount: 6, now: 0) == nil)
    #expect(await limiter.admit("b", amount: 17, now: 0) != nil)
  }

  @Test("RULES §5.6: a clock that went back does not lock an address out")
  func clock() async {
    let limiter = AddressLimiter(requests: 2, per: 2 * second, siteFactor: 4)
    #expect(await limiter.admit("a", now: 1_000_000 * second) == nil)
    #expect(await limiter.admit("a", now: 0) != nil)
    #expect(await limiter.admit("a", now: 3 * second) == nil)
  }

  @Test("a flood of addresses forgets the oldest only")
  func flood() async {
    let limiter = AddressLimiter(requests: 1, per: 1000 * second, siteFactor: 4, capacity: 100)
    #expect(await limiter.admit("victim", now: 0) == nil)
    for index in 0..<99 { _ = await limiter.admit("\(index)", now: 0) }
    #expect(await limiter.admit("victim", now: 1) != nil)
    for index in 100..<1000 { _ = await limiter.admit("\(index)", now: 0) }
    #expect(await limiter.admit("victim", now: 1) == nil)
  }

  @Test("RULES §5.1: rotating /64s within a /48 gains no more than the factor")
  func rotation() async throws {
    let limiter = AddressLimiter(requests: 3, per: 3 * second, siteFactor: 4)
    func name(_ site: Int, _ number: Int) throws -> String {
      try #require(IPAddress("2001:db8:\(site):\(String(number, radix: 16))::1")).countingName
    }
    var passed = 0
    for number in 0..<500 where await limiter.admit(try name(7, number), now: 0) == nil { passed += 1 }
    #expect(passed == 12)
    #expect(await limiter.admit(try name(7, 900), amount: 3, now: 0) == 3 * second / 4)
    #expect(await limiter.admit(try name(8, 1), now: 0) == nil, "the neighbour is another site")
    // It comes back four times as fast as an address does.
    passed = 0
    for number in 500..<1_000 where await limiter.admit(try name(7, number), now: second) == nil {
      passed += 1
    }
    #expect(passed == 4)
    // IPv4 has no site.
    for number in 0..<200 { #expect(await limiter.admit("198.51.100.\(number)", now: 0) == nil) }
  }

  @Test("RULES §5.1: what an address is refused does not count for its site")
  func refusals() async throws {
    let limiter = AddressLimiter(requests: 1, per: 1_000 * second, siteFactor: 2)
    let (first, second) = ("20010db800010001/64", "20010db800010002/64")
    #expect(await limiter.admit(first, now: 0) == nil)
    for _ in 0..<50 { #expect(await limiter.admit(first, now: 0) != nil) }
    #expect(await limiter.admit(second, now: 0) == nil)
    #expect(await limiter.admit("20010db800010003/64", now: 0) != nil)
    #expect(await limiter.admit("20010db80002ffff/64", now: 0) == nil)
  }
}
