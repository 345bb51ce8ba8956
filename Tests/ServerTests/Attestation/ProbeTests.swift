import HTTPMessages
import Testing

@testable import Server

@Suite("The probe of bramley doctor") struct ProbeTests {
  private func answer(_ response: HTTPResponse) async throws -> ProbeAnswer {
    try #require(ProbeAnswer(try await response.body.collect(upTo: 10_000)))
  }

  @Test("it is found under whatever a proxy made of its path, and tells the octets as they came")
  func targets() async throws {
    let server = try BareServer()
    for target in [
      "/attest/v1/probe", "/attest/v1/probe//%7E/%41?b=%7e&a=1", "/api/attest/v1/probe/~",
      "/attest/v1/probe/?",
    ] {
      let response = try await server.ask(.get, target)
      #expect(response.status == 200 && response.fields["cache-control"] == "no-store")
      #expect(try await answer(response).target == target)
    }
    #expect(try await server.ask(.get, "/attest/v1/prob").status == 404)
    #expect(try await server.ask(.post, "/attest/v1/probe").status == 405)
    let long = "/attest/v1/probe/" + String(repeating: "a", count: ProbeRoute.targetLimit)
    #expect(try await server.ask(.get, long).status == 404)
  }

  @Test("it tells nobody an address, a field's value or anything of others")
  func silence() async throws {
    let server = try BareServer { $0.trustedProxies = [AddressBlock("10.0.0.1")].compactMap(\.self) }
    let response = try await server.ask(
      .get, "/attest/v1/probe",
      ["authorization": "Bearer sk-secret", "x-forwarded-for": "198.51.100.9", "cookie": "c=secret"],
      peer: "10.0.0.1")
    let text = String(decoding: try await response.body.collect(upTo: 10_000), as: UTF8.self)
    for word in ["secret", "198.51.100.9", "10.0.0.1"] { #expect(!text.contains(word)) }
    let told = try #require(ProbeAnswer(Array(text.utf8)))
    #expect(told.isForwarded && told.isPeerTrusted && !told.hasEvidence)
  }

  @Test("an address has 60 a minute")
  func limit() async throws {
    let server = try BareServer()
    for _ in 0..<60 { #expect(try await server.ask(.get, "/attest/v1/probe/stream").status == 200) }
    #expect(try await server.ask(.get, "/attest/v1/probe/stream").status == 429)
    #expect(try await server.ask(.get, "/attest/v1/probe", peer: "192.0.2.2").status == 200)
  }

  @Test("the stream comes in three events")
  func stream() async throws {
    let response = try await BareServer().ask(.get, "/attest/v1/probe/stream")
    let text = String(decoding: try await response.body.collect(upTo: 1_000), as: UTF8.self)
    #expect(text.split(separator: "\n\n").count == 3)
  }
}
