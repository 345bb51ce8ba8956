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

@Suite("Limits of functions that fall back")
struct FallbackLimitTests {
  private static let dollar: Int64 = 1_000_000_000_000

  private func limits(_ openAI: Int64, anthropic: Int64 = dollar, all: Int64 = dollar) -> (
    inout Configuration
  ) -> Void {
    {
      $0.budgets = [
        .init(name: "money", subject: .everyone, limit: all),
        .init(name: "claude", subject: .everyone, limit: anthropic, provider: "anthropic"),
        .init(name: "gpt", subject: .everyone, limit: openAI, provider: "openai"),
      ]
      $0.quotas += [
        .init(name: "claude-calls", subject: .everyone, limit: 1_000, provider: "anthropic"),
        .init(name: "gpt-calls", subject: .everyone, limit: 1_000, provider: "openai"),
      ]
    }
  }

  @Test(
    "RULES §5.6: each provider's budget is booked for its own answers alone, and its calls count where it was asked"
  )
  func exact() async throws {
    let fallback = try await FallbackServer(limits(Self.dollar))
    let phone = try await fallback.server.phone()
    #expect(try await fallback.call(phone).status == 200)
    #expect(try await fallback.line("gpt") == [0, 0])
    #expect(try await fallback.line("gpt-calls") == [0, 0])
    #expect(try await fallback.call(phone, "[simulate: error 529 at anthropic]").status == 200)
    let rows = try await fallback.server.usage()
    func cost(_ provider: String) -> Int64 {
      rows.filter { $0.provider == provider }.reduce(0) { $0 + $1.cost }
    }
    #expect(cost("anthropic") > 0 && cost("openai") > 0)
    #expect(try await fallback.line("claude") == [cost("anthropic"), 0])
    #expect(try await fallback.line("gpt") == [cost("openai"), 0])
    #expect(try await fallback.line("money") == [cost("anthropic") + cost("openai"), 0])
    #expect(try await fallback.line("claude-calls") == [2, 0])
    #expect(try await fallback.line("gpt-calls") == [1, 0])
  }

  @Test("RULES §5.6: a provider whose budget is used up is asked by nobody; the others still answer")
  func usedUp() async throws {
    let noGPT = try await FallbackServer(limits(1))
    let phone = try await noGPT.server.phone()
    #expect(try await noGPT.call(phone).status == 200)
    #expect(try await noGPT.call(phone, "[simulate: error 529]").status == 529)
    #expect(noGPT.asked == ["anthropic", "anthropic"])

    let noClaude = try await FallbackServer(limits(Self.dollar, anthropic: 1))
    let other = try await noClaude.server.phone()
    #expect(try await noClaude.call(other).status == 200)
    #expect(noClaude.asked == ["openai"])
    #expect(try await noClaude.line("claude") == [0, 0])
    #expect(try await noClaude.line("claude-calls") == [0, 0])

    let none = try await FallbackServer(limits(1, anthropic: 1))
    let third = try await none.server.phone()
    let refused = try await none.call(third)
    #expect(try await refused.json["violated-policies"]?.elements?.first?.string == "claude")
    #expect(refused.status == 429 && none.asked.isEmpty)
    #expect(try await none.server.remaining(third, "daily") == 100)
  }

  @Test("RULES §5.6: the hold is the dearest of the chain's, whoever is asked first")
  func maximum() async throws {
    // One call at a time fits; Sonnet is dearer than Haiku.
    let fallback = try await FallbackServer(upstream: { _ in
      try await Task.sleep(for: .seconds(600))
      throw HTTPClientError.timedOut(.head)
    })
    let server = fallback.server
    let phone = try await server.phone()
    func held(_ name: String) async throws -> Int64 {
      let before = server.upstreamRequests.values.count
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try? await fallback.call(phone, "shy", name) }
        while server.upstreamRequests.values.count == before { try await Task.sleep(for: .milliseconds(2)) }
        let held = try await fallback.line("money")[1]
        group.cancelAll()
        return held
      }
    }
    let (one, two) = (try await held("name"), try await held("twice"))
    #expect(one > 0 && two > one)
    // Who left after the request was written pays the reserve of the one that was asked, and no more.
    let rows = try await server.usage()
    #expect(
      rows.count == 2 && rows.allSatisfy { $0.provider == "anthropic" && $0.model == "claude-haiku-4-5" })
    #expect(try await fallback.line("money") == [rows.reduce(0) { $0 + $1.cost }, 0])
    #expect(rows.allSatisfy { $0.cost <= one })
  }

  @Test("a closed model and a provider that fails for everyone are passed over, before and during a call")
  func unavailable() async throws {
    let fallback = try await FallbackServer()
    let server = fallback.server
    var phones: [Phone] = []
    for _ in 0..<6 { phones.append(try await server.phone()) }
    for phone in phones.prefix(5) {
      #expect(try await phone.ask("[simulate: error 500]").status == 502)
    }
    // Its breaker is open now.
    let before = fallback.asked.count
    #expect(try await fallback.call(phones[5]).status == 200)
    #expect(Array(fallback.asked.dropFirst(before)) == ["openai"])
    server.clock.advance(seconds: 16)
    // A probe that the function makes, and that fails, goes on as well.
    #expect(try await fallback.call(phones[5], "[simulate: error 500 at anthropic]").status == 200)
    #expect(Array(fallback.asked.dropFirst(before)) == ["openai", "anthropic", "openai"])
    server.clock.advance(seconds: 16)
    #expect(try await fallback.call(phones[5]).status == 200)
    #expect(fallback.asked.last == "anthropic")

    _ = try await server.ledger.settle(
      Settlement(
        id: [UInt8](repeating: 1, count: 16), outcome: .used(cost: 0), now: server.clock.now,
        closure: ModelClosure(
          model: ProviderModel(provider: "anthropic", name: "claude-haiku-4-5"), closedAt: server.clock.now,
          cost: 2, reserve: 1)))
    #expect(try await fallback.call(phones[5]).status == 200)
    #expect(fallback.asked.last == "openai")
    // The other model of the same provider is open.
    #expect(try await fallback.call(phones[5], "shy", "twice").status == 200)
    #expect(fallback.asked.last == "anthropic")
    #expect(try await server.openReservations() == 0)
  }

  @Test(
    "120 calls at once, with failures of both and clients that leave: the budgets hold, and cover what both bill"
  )
  func race() async throws {
    let ceiling: Int64 = 15_000_000_000
    let fallback = try await FallbackServer(limits(6_000_000_000, anthropic: 8_000_000_000, all: ceiling))
    let server = fallback.server
    let phones = [try await server.phone(), try await server.phone(), try await server.phone()]
    let moods = [
      "shy", "[simulate: error 529 at anthropic]", "[simulate: drop after 1 at anthropic]",
      "[simulate: error 500]",
      "[simulate: thinking at openai][simulate: error 500 at anthropic]", "[simulate: delay 5ms]",
    ]
    let statuses = await withTaskGroup(of: Int.self) { group in
      for number in 0..<120 {
        group.addTask {
          let name = ["name", "told", "twice"][number % 3]
          guard
            let response = try? await fallback.call(phones[number % 3], moods[number % moods.count], name)
          else { return 0 }
          if number.isMultiple(of: 5), case .stream(let body, _) = response.body.content {
            _ = try? await body.next()
            body.cancel()
          } else {
            _ = try? await response.body.collect(upTo: 1 << 20)
          }
          return response.status
        }
      }
      return await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(statuses.contains(200))
    let rows = try await server.usage()
    func booked(_ provider: String) -> Int64 {
      rows.filter { $0.provider == provider }.reduce(0) { $0 + $1.cost }
    }
    #expect(try await fallback.line("claude") == [booked("anthropic"), 0])
    #expect(try await fallback.line("gpt") == [booked("openai"), 0])
    #expect(try await fallback.line("money") == [booked("anthropic") + booked("openai"), 0])
    #expect(booked("anthropic") <= 8_000_000_000 && booked("openai") <= 6_000_000_000)
    #expect(booked("anthropic") + booked("openai") <= ceiling)
    #expect(try await server.openReservations() == 0)
    let haiku = try #require(
      PriceTable.shipped.row(provider: "anthropic", model: "claude-haiku-4-5", at: .max))
    let mini = try #require(PriceTable.shipped.row(provider: "openai", model: "gpt-4.1-mini", at: .max))
    let (claude, gpt) = (server.anthropic.billing, server.openAI.billing)
    #expect(
      try #require(
        haiku.cost(of: TokenUsage(input: Int64(claude.inputTokens), output: Int64(claude.outputTokens))))
        <= booked("anthropic"))
    #expect(
      try #require(mini.cost(of: TokenUsage(input: Int64(gpt.inputTokens), output: Int64(gpt.outputTokens))))
        <= booked("openai"))
  }
}
