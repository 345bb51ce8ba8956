import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing
import UserData

@testable import Server

@Suite("Functions that store and fall back")
struct StoredFallbackTests {
  private static let dollar: Int64 = 1_000_000_000_000

  private func server() async throws -> StoringServer {
    var over = Configuration()
    over.auth = Configuration.Auth()
    over.anthropic = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    over.openAI = FallbackServer.openAI
    try over.add(
      functions: #"""
        { "functions": { "note": {
          "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 300, "result": "store",
          "sign_in": "anonymous", "fallbacks": [{ "provider": "openai", "model": "gpt-4.1-mini" }],
          "template": "Say {{words}}.", "input": { "words": { "type": "string", "max_length": 400 } }
        } } }
        """#)
    let functions = over.functions
    return try await StoringServer {
      $0.openAI = FallbackServer.openAI
      $0.functions = functions
      $0.budgets = [
        .init(name: "money", subject: .everyone, limit: Self.dollar),
        .init(name: "claude", subject: .everyone, limit: Self.dollar, provider: "anthropic"),
        .init(name: "gpt", subject: .everyone, limit: Self.dollar, provider: "openai"),
      ]
      $0.quotas = [
        .init(name: "claude-calls", subject: .everyone, limit: 1_000, provider: "anthropic"),
        .init(name: "gpt-calls", subject: .everyone, limit: 1_000, provider: "openai"),
      ]
    }
  }

  /// What is used and held under each rule.
  private func lines(_ server: StoringServer) async throws -> [String: [Int64]] {
    await server.whole.background.drain()
    let rows = try await server.whole.database.read {
      try await $0.rows(
        "select r.name, sum(l.used), sum(l.held) from lines l join rules r on r.id = l.rule group by r.name"
      ) { ($0.string(0), [$0.int64(1), $0.int64(2)]) }
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  private func content(
    _ server: StoringServer, _ object: JSONNode, _ session: ClientSession
  ) async throws -> String {
    let path = try #require(object["path"]?.string)
    return try await server.storage(.get, "/functions/" + path, as: session).text
  }

  /// What GPT bills for what it was asked.
  private func bill(_ server: StoringServer) throws -> Int64 {
    let row = try #require(PriceTable.shipped.row(provider: "openai", model: "gpt-4.1-mini", at: .max))
    let billing = server.whole.openAI.billing
    return try #require(
      row.cost(of: TokenUsage(input: Int64(billing.inputTokens), output: Int64(billing.outputTokens))))
  }

  private func check(_ server: StoringServer, _ session: ClientSession) async throws {
    let bill = try bill(server)
    let rows = try await server.whole.usage()
    #expect(rows.map(\.provider) == ["openai"] && rows.map(\.model) == ["gpt-4.1-mini"])
    #expect(rows.map(\.cost) == [bill] && rows.map(\.estimated) == [false])
    #expect(rows.map(\.function) == ["note"] && rows.map(\.userID) == [session.userID])
    let lines = try await lines(server)
    #expect(lines["money"] == [bill, 0] && lines["gpt"] == [bill, 0] && lines["claude"] == [0, 0])
    #expect(lines["claude-calls"] == [1, 0] && lines["gpt-calls"] == [1, 0])
    #expect(try await server.whole.openReservations() == 0)
    #expect(try await server.objects.standing(of: try #require(UUID(session.userID))).count == 1)
  }

  @Test(
    "RULES §5.2, §5.6: where the first fails the object is the second's, booked at its price, and the first holds nothing"
  )
  func fallsBack() async throws {
    let server = try await server()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let object = try await StoringServer.stored(
      try await server.call("note", ["words": "[simulate: error 529 at anthropic]"], phone, as: ada))
    #expect(server.whole.upstreamRequests.values.map(\.authority) == ["api.anthropic.com", "api.openai.com"])
    #expect(try await content(server, object, ada).isEmpty == false)
    try await check(server, ada)
  }

  @Test("where both fail nothing is stored or booked, and the next call has its whole allowance")
  func bothFail() async throws {
    let server = try await server()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    #expect(
      try await server.call("note", ["words": "[simulate: error 500]"], phone, as: ada).status >= 500)
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 0)
    #expect(try await server.whole.usage().allSatisfy { $0.cost == 0 })
    let lines = try await lines(server)
    for rule in ["money", "gpt", "claude", "gpt-calls", "claude-calls"] { #expect(lines[rule] == [0, 0]) }
    #expect(try await server.whole.openReservations() == 0)
  }

  @Test(
    "RULES §5.5, §5.6: a server that dies after it stored what the second made has it booked by the sweep, once, at what it cost"
  )
  func diesAfterStoring() async throws {
    let server = try await server()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    try await server.keepFromSettling {
      _ = try await StoringServer.stored(
        try await server.call("note", ["words": "[simulate: error 529 at anthropic]"], phone, as: ada))
      #expect(try await server.whole.openReservations() == 1)
    }
    #expect(try await server.whole.usage().isEmpty)
    server.whole.clock.advance(milliseconds: LiveReservations.lease + 1)
    #expect(try await server.whole.ledger.sweep(now: server.whole.clock.now) == 1)
    try await check(server, ada)
    // What the dead server still owed comes too late.
    #expect(await server.whole.server.jobs.first { $0.name == "settle_owed" }?.run() == .done)
    try await check(server, ada)
  }
}

extension StoringServer {
  /// As where the server dies before it books: no reservation ends meanwhile.
  func keepFromSettling(_ body: () async throws -> Void) async throws {
    _ = try await whole.database.write {
      try await $0.execute(
        "create trigger dead before delete on reservations begin select raise(abort, 'dead'); end")
    }
    try await body()
    await whole.background.drain()
    _ = try await whole.database.write { try await $0.execute("drop trigger dead") }
  }
}
