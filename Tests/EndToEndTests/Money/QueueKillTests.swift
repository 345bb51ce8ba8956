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

@Suite("kill -9 amid fal's queue", .serialized)
struct QueueKillTests {
  private static let model = "fal-ai/flux/schnell"
  private static let calls = "/ai/fal/queue/fal-ai/flux/requests/"

  @Test(
    "RULES §5.7: whatever is killed amid submission, looks, result and settlement, each call of the queue is booked once, as fal counts",
    arguments: MoneyBackend.allCases)
  func killed(_ backend: MoneyBackend) async throws {
    let servers = try await MoneyServers(
      backend,
      limits: """
        "in_flight": 4, "burst": { "requests": 10000, "seconds": 1 },
        "quotas": [{ "name": "all", "subject": "everyone", "limit": 100000 }],
        "budgets": [{ "name": "money", "subject": "everyone", "dollars": "2" }]
        """)
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let phones = try (0..<4).map { try servers.phone($0, over: network) }
    var (receipts, lost, results) = (0, 0, 0)
    for round in 0..<max(1, Killing.times / 10) {
      // Amid submissions, with apps that look at once.
      let victim = round % servers.bases.count
      let all = try await withThrowingTaskGroup(of: Submission.self) { group in
        for number in 0..<16 {
          group.addTask {
            var asked = Submission(
              phone: number % phones.count, prompt: "a cat [simulate: delay \(number * 20)ms]")
            await asked.send(by: phones)
            if let call = asked.call, number.isMultiple(of: 3) {
              _ = await Self.look(phones[asked.phone], call + "/status")
            }
            return asked
          }
        }
        try await Task.sleep(for: .milliseconds(Int.random(in: 30...400)))
        try await servers.kill(victim)
        return try await group.reduce(into: []) { $0.append($1) }
      }
      var known = all.filter { $0.call != nil }
      try await servers.restart(victim)
      // Amid settlements: the job looks every two seconds, and apps ask for results.
      let late = (victim + 1) % servers.bases.count
      try await withThrowingTaskGroup { group in
        for answer in known {
          group.addTask { _ = await Self.look(phones[answer.phone], answer.call ?? "") }
        }
        await servers.fal.advance()
        await servers.fal.advance()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...2_200)))
        try await servers.kill(late)
        try await group.waitForAll()
      }
      try await Self.passTime(servers)
      try await servers.restart(late)
      try await Self.settled(servers)
      // Whoever has none asks again: for the call that fal has, or for one where no server knew of it.
      for var asked in all where asked.call == nil {
        await asked.send(by: phones)
        if asked.call != nil { known.append(asked) } else { lost += 1 }
      }
      receipts += known.count
      try await Self.settled(servers)
      // Nobody who has a receipt has lost what was paid for.
      for answer in known {
        let call = try #require(answer.call)
        let status = await Self.look(phones[answer.phone], call)
        #expect(status == 200, "the result of \(call)")
        results += status == 200 ? 1 : 0
      }
      // And each place is free again: as many calls fit as ever.
      for phone in phones.indices {
        for _ in 0..<4 {
          var asked = Submission(phone: phone, prompt: "a dog")
          await asked.send(by: phones)
          #expect(asked.call != nil)
        }
      }
      receipts += 4 * phones.count
      try await Self.settled(servers)
    }
    // What fal has of submissions that nobody knows of is finished, and billed.
    for _ in 0..<2 { await servers.fal.advance() }
    try await servers.stop()
    let books = try await servers.database { try await MoneyBooks($0) }
    let bill = try servers.bill()
    books.check(ceiling: 2_000_000_000_000, bill: bill)
    let rows = try await servers.database { database in
      try await database.read {
        try await $0.rows("select cost, units, model, estimated from usage") {
          (cost: $0.int64(0), units: $0.int64(1), model: $0.string(2), isEstimated: $0.bool(3))
        }
      }
    }
    #expect(rows.count == books.counted, "each call that was let in is booked once")
    #expect(rows.allSatisfy { $0.model == Self.model }, "also one of a server that died")
    let billed = servers.fal.billing.billedCalls
    #expect(receipts <= billed && billed <= rows.count && rows.count <= receipts + lost)
    // What was booked beyond the bill are calls that a server died with before fal had them.
    let price = bill / Int64(billed)
    #expect(rows.allSatisfy { $0.cost == price })
    #expect(books.rows - bill == Int64(rows.count - billed) * price)
    print(
      "kill -9 amid fal's queue on \(backend.rawValue): \(receipts) receipts, \(lost) lost, \(results) results, \(rows.count) booked, \(billed) billed, \(rows.count { $0.isEstimated }) at the hold"
    )
  }

  /// A call on its way into the queue, which may be sent again as it was.
  private struct Submission: Sendable {
    let phone: Int
    let prompt: String
    let key = UUID().uuidString
    /// Its path, once there is a receipt.
    var call: String?

    init(phone: Int, prompt: String) {
      self.phone = phone
      self.prompt = prompt
    }

    mutating func send(by phones: [BramleyClient]) async {
      let request = HTTPRequest(
        method: .post, target: "/ai/fal/queue/" + QueueKillTests.model,
        fields: ["content-type": "application/json", "idempotency-key": key],
        body: HTTPBody(#"{"prompt":"\#(prompt)"}"#))
      guard let response = try? await phones[phone].respond(to: request),
        let body = try? await response.body.collect(upTo: 1 << 16)
      else { return }
      let text = String(decoding: body, as: UTF8.self)
      // Nobody is refused; what a dead server may have handed over is told as such.
      #expect(response.status == 200 || text.contains("idempotency_incomplete"), "\(response.status) \(text)")
      guard response.status == 200 else { return }
      call = (try? JSONReader.read(body))?["request_id"]?.string.map { QueueKillTests.calls + $0 }
    }
  }

  /// The status; nil where nobody answered.
  private static func look(_ phone: BramleyClient, _ target: String) async -> Int? {
    guard let response = try? await phone.respond(to: HTTPRequest(method: .get, target: target)),
      (try? await response.body.collect(upTo: 1 << 16)) != nil
    else { return nil }
    return response.status
  }

  /// Ten minutes later: of what fal has the hold goes on, of what was never answered it is over. No dead server has a
  /// job any more.
  private static func passTime(_ servers: MoneyServers) async throws {
    try await servers.database { database in
      try await database.write { transaction in
        try await transaction.execute("update reservations set lease = lease - 600000")
        try await transaction.execute("update jobs set next_run = 0, leased_until = null")
        try await transaction.execute(
          "update kept_answers set leased_until = leased_until - 90000 where state = 0")
        try await transaction.execute("update queued_calls set next_look = 0 where ended_at is null")
      }
    }
  }

  /// Waits until the servers' jobs have settled every call and swept every lease.
  private static func settled(_ servers: MoneyServers) async throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while true {
      let open = try await servers.database { database in
        try await database.read { try await $0.first("select count(*) from reservations") { $0.int(0) } }
      }
      if open == 0 { return }
      try #require(ContinuousClock.now < deadline, "reservations are left: \(open ?? -1)")
      await servers.fal.advance()
      try await Task.sleep(for: .milliseconds(300))
    }
  }
}
