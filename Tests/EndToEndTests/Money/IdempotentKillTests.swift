import AppleSimulator
import BramleyClient
import BramleyTesting
import Encodings
import Foundation
import Gateway
import HTTPMessages
import SQL
import Stores
import System
import Testing
import Transport

@Suite("kill -9 amid requests with an Idempotency-Key", .serialized)
struct IdempotentKillTests {
  /// One request, which is sent again as it was.
  private struct Asked: Sendable {
    let phone: Int
    let key: String
    let request: HTTPRequest
    /// The whole answer; nil where none came.
    var answer: [UInt8]?
    var status: Int?
  }

  @Test(
    "RULES §5.8: asked again after a kill, a call has its first answer or is incomplete, and no provider is asked twice",
    arguments: MoneyBackend.allCases)
  func killed(_ backend: MoneyBackend) async throws {
    let ceiling: Int64 = 2_000_000_000_000
    let servers = try await MoneyServers(
      backend,
      limits: """
        "in_flight": 1000, "burst": { "requests": 10000, "seconds": 1 },
        "quotas": [{ "name": "all", "subject": "everyone", "limit": 100000 }],
        "budgets": [{ "name": "money", "subject": "everyone", "dollars": "2" }]
        """)
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let phones = try (0..<4).map { try servers.phone($0, over: network) }
    var told: [String: Int] = [:]
    var keys = 0
    for kill in 0..<max(2, Killing.times / 3) {
      let victim = kill % servers.bases.count
      var all = (0..<24).map { Self.question($0, of: kill) }
      keys += all.count
      all = try await withThrowingTaskGroup(of: Asked.self) { group in
        for asked in all { group.addTask { await Self.send(asked, by: phones[asked.phone]) } }
        try await Task.sleep(for: .milliseconds(Int.random(in: 60...500)))
        try await servers.kill(victim)
        return try await group.reduce(into: [Asked]()) { $0.append($1) }
      }
      #expect(all.allSatisfy { $0.status == nil || $0.status == 200 }, "\(all.compactMap(\.status))")
      // A minute and a half later whoever ran them is known to be dead.
      try await servers.database { database in
        _ = try await database.write {
          try await $0.execute("update kept_answers set leased_until = leased_until - 90000 where state = 0")
        }
      }
      try await servers.restart(victim)
      for asked in all {
        let again = await Self.send(asked, by: phones[asked.phone])
        let status = try #require(again.status, "no answer after the restart")
        let text = String(decoding: again.answer ?? [], as: UTF8.self)
        #expect(
          status == 200 || (status == 422 && text.contains("idempotency_incomplete")), "\(status) \(text)")
        if status == 200, let first = asked.answer { #expect(again.answer == first) }
        told["\(asked.answer == nil ? "unanswered" : "answered") then \(status)", default: 0] += 1
      }
      let marks = await servers.asked.marks
      for asked in all { #expect(marks[asked.key, default: 0] <= 1, "\(asked.key)") }
    }
    print("kill -9 amid idempotent calls on \(backend.rawValue): \(told.sorted { $0.key < $1.key })")
    try await servers.stop()
    let books = try await servers.database { try await MoneyBooks($0) }
    books.check(ceiling: ceiling, bill: try servers.bill())
    #expect(books.counted <= keys)
  }

  private static func question(_ number: Int, of kill: Int) -> Asked {
    let key = UUID().uuidString
    var request = Load.question()
    let wait = ["", "[simulate: delay 100ms]", "[simulate: delay 400ms]", "[simulate: pace 20ms]"][number % 4]
    request.body = HTTPBody(
      #"{"model":"claude-haiku-4-5","max_tokens":32,"stream":\#(number.isMultiple(of: 2)),"messages":[{"role":"user","content":"mark:\#(key) \#(wait)"}]}"#
    )
    request.fields["idempotency-key"] = key
    return Asked(phone: number % 4, key: key, request: request)
  }

  private static func send(_ asked: Asked, by phone: BramleyClient) async -> Asked {
    var asked = asked
    guard let response = try? await phone.respond(to: asked.request) else { return asked }
    guard let answer = try? await response.body.collect(upTo: 1 << 20) else { return asked }
    (asked.status, asked.answer) = (response.status, answer)
    return asked
  }
}
