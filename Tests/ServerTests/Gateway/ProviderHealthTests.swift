import BramleyTesting
import HTTPMessages
import Testing

@testable import Server

@Suite("A provider that fails for everyone")
struct ProviderHealthTests {
  @Test("RULES §5.4: one phone's failures close the provider to nobody")
  func onePhone() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for _ in 0..<12 { _ = try await phone.ask("[simulate: error 529]") }
    #expect(try await server.phone().ask().status == 200)
  }

  @Test("RULES §5.4: failures of five keys close it to all until a probe succeeds")
  func fivePhones() async throws {
    let server = try await WholeServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 2)] }
    var phones: [Phone] = []
    for _ in 0..<5 { phones.append(try await server.phone()) }
    for phone in phones { #expect(try await phone.ask("[simulate: error 500]").status == 502) }
    let another = try await server.phone()
    let before = server.upstreamRequests.values.count
    let refused = try await another.ask()
    #expect(try await Outcome(refused) == Outcome(503, "upstream_unavailable"))
    #expect(refused.fields["retry-after"] == "15")
    #expect(server.upstreamRequests.values.count == before)
    #expect(try await server.remaining(another, "daily") == 2)

    server.clock.advance(seconds: 16)
    // Refused for its own quota, a phone does not take the probe's place.
    let spent = try await server.phone()
    for _ in 0..<2 { #expect(try await spent.ask().status == 200) }
    for phone in phones { #expect(try await phone.ask("[simulate: error 500]").status == 502) }
    server.clock.advance(seconds: 16)
    #expect(try await spent.ask().status == 429)
    #expect(try await another.ask("[simulate: error 500]").status == 502)
    #expect(try await another.ask().status == 503)
    server.clock.advance(seconds: 16)
    #expect(try await another.ask().status == 200)
    #expect(try await phones[0].ask().status == 200)
  }
}
