import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Functions that fall back on another provider")
struct FallbackTests {
  @Test(
    "RULES §5.6: where the first fails before it costs anything the next answers, at its own price, counted once",
    arguments: [
      "error 429", "error 500", "error 503", "error 529", "error 401", "error 402", "no credit", "page",
      "connect",
    ])
  func fallsBack(_ instruction: String) async throws {
    let fallback = try await FallbackServer(upstream: { request in
      if instruction == "connect", request.authority != "api.openai.com" { throw HTTPClientError.connect }
      return nil
    })
    let server = fallback.server
    let phone = try await server.phone()
    let isPage = instruction == "page" ? "[simulate: error 500 at anthropic]" : ""
    let response = try await fallback.call(
      phone, instruction == "connect" ? "shy" : "[simulate: \(instruction) at anthropic]\(isPage)")
    #expect(response.status == 200)
    #expect(try await response.json["text"]?.string?.isEmpty == false)
    #expect(response.fields["ratelimit"]?.hasPrefix("\"daily\";r=99") == true)
    #expect(Set(fallback.asked) == ["anthropic", "openai"] && fallback.asked.last == "openai")
    let rows = try await server.usage()
    #expect(rows.map(\.provider) == ["openai"] && rows.map(\.model) == ["gpt-4.1-mini"])
    #expect(rows.map(\.function) == ["name"] && rows.map(\.status) == [200])
    let row = try #require(PriceTable.shipped.row(provider: "openai", model: "gpt-4.1-mini", at: .max))
    let billing = server.openAI.billing
    #expect(
      rows.first?.cost
        == row.cost(of: TokenUsage(input: Int64(billing.inputTokens), output: Int64(billing.outputTokens))))
    #expect(try await fallback.line("money") == [rows[0].cost, 0])
    #expect(try await server.openReservations() == 0)
    #expect(try await server.remaining(phone, "daily") == 99)
    #expect(server.server.metrics.text.contains("bramley_fallbacks_total{provider=\"anthropic\"} 1"))
    #expect(
      server.server.metrics.text.contains(
        "bramley_provider_cost_microdollars_total{provider=\"openai\"} \(rows[0].cost / 1_000_000)"))
  }

  @Test(
    "RULES §5.6: once it may cost something, or is the caller's own doing, nobody else is asked",
    arguments: [
      ("error 409", 409), ("error 413", 413), ("error 404", 404), ("gzip", 502), ("redirect", 502),
      ("drop after 2", 502), ("error 504", 504), ("lost", 502),
    ])
  func staysThere(_ instruction: String, _ status: Int) async throws {
    let fallback = try await FallbackServer(upstream: { _ in
      if instruction == "lost" { throw HTTPClientError.interrupted }
      return nil
    })
    let phone = try await fallback.server.phone()
    let response = try await fallback.call(
      phone, instruction == "lost" ? "shy" : "[simulate: \(instruction) at anthropic]")
    #expect(response.status == status)
    #expect(fallback.asked == ["anthropic"])
    let rows = try await fallback.server.usage()
    #expect(rows.map(\.provider) == ["anthropic"])
    #expect(try await fallback.line("money") == [rows[0].cost, 0])
    #expect(fallback.server.openAI.billing.calls == 0)
  }

  @Test("RULES §5.6: a stream that has begun stays with who began it; before that it falls back")
  func streamed() async throws {
    let fallback = try await FallbackServer()
    let phone = try await fallback.server.phone()
    let first = try await fallback.call(phone, "[simulate: error 529 at anthropic]", "told").text
    #expect(first.contains("event: done") && fallback.asked == ["anthropic", "openai"])
    let second = try await fallback.call(phone, "[simulate: error 529 after 2 at anthropic]", "told").text
    #expect(second.contains("event: error") && fallback.asked.count == 3)
    #expect(try await fallback.server.usage().map(\.provider).sorted() == ["anthropic", "openai"])
    #expect(try await fallback.server.openReservations() == 0)
  }

  @Test("where all fail the last one's error is told, nothing is booked, and the count comes back as one")
  func allFail() async throws {
    let fallback = try await FallbackServer()
    let server = fallback.server
    let phone = try await server.phone()
    for _ in 0..<6 {
      let response = try await fallback.call(phone, "[simulate: error 503]", "twice")
      #expect(try await Outcome(response) == Outcome(503, "upstream_busy"))
    }
    #expect(
      fallback.asked == Array(repeating: ["anthropic", "anthropic", "openai"], count: 6).flatMap(\.self))
    #expect(try await fallback.line("money") == [0, 0])
    // Five a day.
    #expect(try await server.remaining(phone, "daily") == 99)
    #expect(try await server.usage().count == 6)
    #expect(try await server.openReservations() == 0)
  }

  @Test("RULES §5.8: with an Idempotency-Key the chain is one call, and a repeat gets its answer")
  func idempotent() async throws {
    let fallback = try await FallbackServer()
    let phone = try await fallback.server.phone()
    let key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
    let prompt = "[simulate: error 529 at anthropic]"
    let answer = try await fallback.call(phone, prompt, key: key).text
    await fallback.server.background.drain()
    let repeated = try await fallback.call(phone, prompt, key: key)
    #expect(repeated.fields["idempotency-replayed"] == "true")
    #expect(try await repeated.text == answer && fallback.asked == ["anthropic", "openai"])
    #expect(try await fallback.server.usage().count == 1)
  }

  @Test("a session token's device has a name of its own at each provider")
  func pseudonyms() async throws {
    let fallback = try await FallbackServer()
    let phone = try await fallback.server.phone()
    let token = try await phone.token().json["token"]?.string ?? ""
    var request = Phone.call("name", #"{"mood":"[simulate: error 529 at anthropic]"}"#)
    request.fields["authorization"] = "Bearer \(token)"
    #expect(try await fallback.server.send(request).status == 200)
    var names: [String] = []
    for sent in fallback.server.upstreamRequests.values {
      let body = try JSONReader.read(try await sent.body.collect(upTo: 1 << 20))
      names.append(
        body["metadata"]?["user_id"]?.string ?? body["safety_identifier"]?.string ?? body["user"]?.string
          ?? "")
    }
    #expect(names.count == 2 && names[0].count == 32 && names[1].count == 32 && names[0] != names[1])
  }
}
