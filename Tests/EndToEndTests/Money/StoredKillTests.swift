import AppleSimulator
import BramleyClient
import BramleyTesting
import Encodings
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("kill -9 amid functions that store", .serialized)
struct StoredKillTests {
  private static let limits = #"""
    "in_flight": 20, "burst": { "requests": 10000, "seconds": 1 },
    "quotas": [{ "name": "all", "subject": "everyone", "limit": 100000 }],
    "budgets": [{ "name": "money", "subject": "everyone", "dollars": "2" }],
    "auth": { "anonymous": true },
    "functions": { "note": {
      "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 300, "result": "store",
      "sign_in": "anonymous", "template": "Say {{words}}.",
      "input": { "words": { "type": "string", "max_length": 400 } }
    } }
    """#

  /// A user's phone.
  private struct Asking: Sendable {
    let phone: BramleyClient
    let access: String
    let userID: String

    func ask(_ words: String, key: String) async -> (status: Int, isReplayed: Bool, answer: JSONNode?)? {
      let request = HTTPRequest(
        method: .post, target: "/functions/v1/note",
        fields: [
          "content-type": "application/json", "authorization": "Bearer " + access, "idempotency-key": key,
        ], body: HTTPBody(JSONValue.object([("words", .string(words))]).bytes))
      guard let response = try? await phone.respond(to: request),
        let body = try? await response.body.collect(upTo: 1 << 16)
      else { return nil }
      return (response.status, response.fields["idempotency-replayed"] == "true", try? JSONReader.read(body))
    }
  }

  private func user(_ servers: MoneyServers, _ number: Int, _ network: HTTPClient) async throws -> Asking {
    let base = servers.bases[number % servers.bases.count]
    let response = try await network.respond(
      to: HTTPRequest(
        method: .post, scheme: "http", authority: String(base.dropFirst("http://".count)),
        target: "/auth/v1/signup", fields: ["content-type": "application/json"], body: HTTPBody("{}")))
    let session = try JSONReader.read(try await response.body.collect(upTo: 1 << 16))
    return Asking(
      phone: try servers.phone(number, over: network),
      access: try #require(session["access_token"]?.string),
      userID: try #require(session["user"]?["id"]?.string))
  }

  private func count(_ servers: MoneyServers, _ query: String) async throws -> Int {
    try await servers.database { database in
      try await database.read { try await $0.first(query) { $0.int(0) } } ?? -1
    }
  }

  private func wait(_ what: Comment, _ holds: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !holds() {
      try #require(ContinuousClock.now < deadline, what)
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// From now on nothing is settled and no answer is kept, as where a server dies before; or it is so no more.
  private func hinder(_ servers: MoneyServers, _ backend: MoneyBackend, _ hinders: Bool) async throws {
    let parts = [("delete", "reservations"), ("update of state", "kept_answers")]
    var steps: [String] = []
    for (index, (event, table)) in parts.enumerated() {
      switch (backend, hinders) {
      case (.sqlite, true):
        steps.append(
          "create trigger dead\(index) before \(event) on \(table) begin select raise(abort, 'dead'); end")
      case (.postgreSQL, true):
        steps.append(
          "create trigger dead\(index) before \(event) on \(table) for each row execute function dead()")
      case (.sqlite, false): steps.append("drop trigger dead\(index)")
      case (.postgreSQL, false): steps.append("drop trigger dead\(index) on \(table)")
      }
    }
    if backend == .postgreSQL, hinders {
      steps.insert(
        "create function dead() returns trigger language plpgsql as $$ begin raise exception 'dead'; end $$",
        at: 0)
    }
    let all = steps
    try await servers.database { database in
      try await database.write { transaction in for step in all { try await transaction.execute(step) } }
    }
  }

  @Test(
    "RULES §5.2, §5.5, §5.8: what a killed server had stored is its user's answer at once, and booked once at what it cost; what it had not is booked at the hold, by name",
    arguments: MoneyBackend.allCases)
  func killed(_ backend: MoneyBackend) async throws {
    let servers = try await MoneyServers(backend, limits: Self.limits)
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let ada = try await user(servers, 0, network)
    let grace = try await user(servers, 1, network)
    let key = UUID().uuidString

    // Dead between storing and settling.
    try await hinder(servers, backend, true)
    try await withThrowingTaskGroup { group in
      group.addTask { _ = await ada.ask("mark:stored", key: key) }
      try await wait("the object") { try await count(servers, "select count(*) from objects") == 1 }
      try await servers.kill(0)
      try await group.waitForAll()
    }
    try await hinder(servers, backend, false)
    #expect(try await count(servers, "select count(*) from usage") == 0)
    #expect(try await count(servers, "select count(*) from reservations") == 1)
    #expect(try await count(servers, "select count(*) from kept_answers where state = 0") == 1)
    try await servers.restart(0)
    // The dead server's lease lasts, and nobody waits for it.
    let again = try #require(await ada.ask("mark:stored", key: key))
    #expect(again.status == 200 && again.isReplayed, "\(again.answer?.value.text ?? "")")
    let path = try #require(again.answer?["objects"]?.elements?.first?["path"]?.string)
    #expect(
      try await count(servers, "select count(*) from objects where path = '\(path)'") == 1)
    let other = try #require(await ada.ask("mark:other", key: key))
    #expect(other.status == 422 && other.answer?["code"]?.string == "idempotency_mismatch")
    #expect(await servers.asked.marks == ["stored": 1])
    let foreign = try #require(await grace.ask("mark:stored", key: key))
    #expect(foreign.status == 200 && !foreign.isReplayed)
    #expect(foreign.answer?["objects"]?.elements?.first?["path"]?.string != path)
    #expect(await servers.asked.marks == ["stored": 2])

    // Dead before there was anything to store.
    let second = UUID().uuidString
    try await withThrowingTaskGroup { group in
      group.addTask { _ = await ada.ask("mark:lost [simulate: delay 30000ms]", key: second) }
      try await wait("the question") { await servers.asked.marks["lost"] == 1 }
      try await servers.kill(0)
      try await group.waitForAll()
    }
    try await servers.database { database in
      _ = try await database.write {
        try await $0.execute("update kept_answers set leased_until = leased_until - 90000 where state = 0")
      }
    }
    try await servers.restart(0)
    let lost = try #require(await ada.ask("mark:lost [simulate: delay 30000ms]", key: second))
    #expect(lost.status == 422 && lost.answer?["code"]?.string == "idempotency_incomplete")

    try await servers.stop()
    let books = try await servers.database { try await MoneyBooks($0) }
    books.check(ceiling: 2_000_000_000_000, bill: try servers.bill())
    #expect(books.counted == 3)
    let rows = try await servers.database { database in
      try await database.read {
        try await $0.rows(
          "select user_id, function, provider, model, status, estimated, cost from usage order by started_at"
        ) {
          (
            user: $0.optionalString(0),
            call: [$0.optionalString(1), $0.string(2), $0.string(3)], status: $0.int(4),
            isEstimated: $0.bool(5), cost: $0.int64(6)
          )
        }
      }
    }
    #expect(rows.map(\.user) == [ada.userID, grace.userID, ada.userID])
    #expect(rows.allSatisfy { $0.call == ["note", "anthropic", "claude-haiku-4-5"] })
    #expect(rows.map(\.status) == [200, 200, 0] && rows.map(\.isEstimated) == [false, false, true])
    // The same question has the same price, whoever's server died.
    #expect(rows.count == 3 && rows[0].cost == rows[1].cost && rows[2].cost > rows[0].cost)
  }
}
