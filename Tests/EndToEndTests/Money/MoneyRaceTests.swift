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

@Suite("Money under kill -9", .serialized)
struct MoneyRaceTests {
  /// How many race; BRAMLEY_TEST_RACERS says otherwise.
  private static let racers =
    ProcessInfo.processInfo.environment["BRAMLEY_TEST_RACERS"].flatMap { Int($0) } ?? 200

  private static let prompts = [
    "hello", "[simulate: delay 200ms]", "[simulate: tokens 60] [simulate: pace 5ms]", "[simulate: error 529]",
    "[simulate: drop after 2]", "[simulate: thinking]", "[simulate: no usage]", "[simulate: error 400]",
  ]

  @Test(
    "RULES §5.2, §5.5: 200 race one budget and one quota, with clients that leave, errors and kills: neither is passed, and each reservation is settled once",
    arguments: MoneyBackend.allCases)
  func race(_ backend: MoneyBackend) async throws {
    // A call holds about 0.4 thousandths of a dollar: neither lasts for all.
    let ceiling: Int64 = 50_000_000_000
    let limit: Int64 = Int64(Self.racers) * 3 / 4
    let servers = try await MoneyServers(
      backend,
      limits: """
        "in_flight": 1000, "burst": { "requests": 10000, "seconds": 1 },
        "quotas": [{ "name": "all", "subject": "everyone", "limit": \(limit) }],
        "budgets": [{ "name": "money", "subject": "everyone", "dollars": "0.05" }]
        """)
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let phones = try (0..<8).map { try servers.phone($0, over: network) }
    let finished = Locked(0)
    let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
      for racer in 0..<Self.racers {
        group.addTask {
          // Spread out, so that each kill hits some in their midst.
          try await Task.sleep(for: .milliseconds(racer * 10))
          let all = await Self.ask(phones, racer)
          finished.withLock { $0 += 1 }
          return all
        }
      }
      for kill in 0..<3 {
        let done = Self.racers * (kill + 1) / 5
        while finished.withLock({ $0 }) < done { try await Task.sleep(for: .milliseconds(10)) }
        let victim = kill % servers.bases.count
        try await servers.kill(victim)
        try await servers.restart(victim)
      }
      return try await group.reduce(into: [Int]()) { $0 += $1 }
    }
    try await servers.stop()
    let books = try await servers.database { try await MoneyBooks($0) }
    books.check(ceiling: ceiling, bill: try servers.bill())
    #expect(books.counted <= limit)
    #expect(statuses.contains(200))
    print(
      "money race on \(backend.rawValue): \(statuses.count) answers, \(statuses.count { $0 == 200 }) good, booked \(books.rows) of \(ceiling), billed \(try servers.bill())"
    )
  }

  /// Asks until somebody answers; the statuses that came.
  private static func ask(_ phones: [BramleyClient], _ racer: Int) async -> [Int] {
    for attempt in 0..<200 {
      let phone = phones[(racer + attempt) % phones.count]
      var request = Load.question(prompts[racer % prompts.count])
      if racer % 3 != 0 {
        request.body = HTTPBody(
          #"{"model":"claude-haiku-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"\#(prompts[racer % prompts.count])"}]}"#
        )
      }
      guard let response = try? await phone.respond(to: request) else {
        // Its server is dead; another phone asks another, or this one once it is back.
        try? await Task.sleep(for: .milliseconds(50))
        continue
      }
      if racer.isMultiple(of: 7), case .stream(let body, _) = response.body.content {
        _ = try? await body.next()
        body.cancel()
      } else {
        _ = try? await response.body.collect(upTo: 1 << 20)
      }
      return [response.status]
    }
    return []
  }
}
