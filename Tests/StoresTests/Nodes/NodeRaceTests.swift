import Admission
import AppAttest
import BramleyTesting
import Gateway
import SQL
import Stores
import Testing

@Suite("Nodes on one PostgreSQL", .serialized, TestPostgres.required) struct NodeRaceTests {
  @Test(
    "RULES §5.5: 64 tasks on 4 nodes: no counter passes twice, no shared ceiling is passed, sums agree, no deadlock"
  )
  func race() async throws {
    let fixture = try await NodeFixture(nodes: 4)
    try await fixture.register(8)
    let next = Window(id: "2027-01-16", start: Requests.day.end, end: Requests.day.end + 86_400_000)
    let outcomes = try await withThrowingTaskGroup(of: [Outcome].self) { group in
      for task in 0..<64 {
        group.addTask {
          let node = fixture.nodes[task % 4]
          var outcomes: [Outcome] = []
          for round in 0..<12 {
            // Eight tasks of four nodes send the same counters for the same key: replays of each other.
            let key = (task / 8 + round) % 8
            let counter = UInt32(round * 8 + task % 8 / 2 + 1)
            let isLate = round >= 6
            let now = isLate ? next.start + 5 : Requests.now
            let window = isLate ? next : Requests.day
            // In no order: the database must find its own.
            let charges = [
              Requests.daily(30, .key, window: window), Requests.daily(100, .everyone, window: window),
              Requests.money(40, of: 4_000, .everyone), Requests.running(1_000),
              Requests.burst(every: 1, 1_000),
              Requests.daily(1_000, .address("192.0.2.\(task % 5)"), window: window),
            ].shuffled()
            let request = Requests.assertion(
              key, counter: counter, id: task * 100 + round, charges: charges, now: now, lease: 60_000)
            let decision = try await node.ledger.admit(request)
            outcomes.append(
              Outcome(key: key, counter: counter, isLate: isLate, decision: decision))
            if decision.isAdmitted, round.isMultiple(of: 2) {
              // Another node than the one that admitted it.
              let other = fixture.nodes[(task + 1) % 4]
              #expect(
                try await other.ledger.settle(
                  Settlement(id: request.id, outcome: .used(cost: 25), now: now)))
              outcomes[outcomes.count - 1].isSettled = true
            }
          }
          return outcomes
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let admitted = outcomes.filter { $0.decision.isAdmitted }
    let places = admitted.map { "\($0.key)/\($0.counter)" }
    #expect(Set(places).count == places.count)
    #expect(admitted.count { !$0.isLate } <= 100)
    #expect(admitted.count { $0.isLate } <= 100)
    #expect(!admitted.isEmpty)
    let settled = Int64(admitted.count { $0.isSettled })
    let open = Int64(admitted.count) - settled
    #expect(try await fixture.sums("budget") == (settled * 25, open * 40))
    #expect(settled * 25 + open * 40 <= 4_000)
    #expect(try await fixture.sums("running") == (0, open))
    #expect(try await fixture.sums("daily") == (Int64(admitted.count) * 3, 0))
    #expect(try await fixture.number("select count(*) from reservations") == open)
    #expect(try await fixture.number("select count(*) from periods") == 3 + 0 + 0 + 0)
    // A refusal says which limit, and never is an error (RULES §5.5).
    #expect(outcomes.count == 64 * 12)
    try await Task.sleep(for: .milliseconds(1_200))
    #expect(
      try await fixture.number(
        "select deadlocks from pg_stat_database where datname = current_database()") == 0)
  }

  private struct Outcome: Sendable {
    var key: Int
    var counter: UInt32
    var isLate: Bool
    var decision: AdmissionDecision
    var isSettled = false
  }

  @Test("A key that one node revokes is refused by all; names that one node forgets are made anew by all")
  func remembering() async throws {
    let fixture = try await NodeFixture(nodes: 2)
    try await fixture.register(1)
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let charges = [Requests.burst(every: 1, 5), Requests.daily(10, .address("192.0.2.9"))].map {
      Charge(subject: .address("192.0.2.9"), rule: $0.rule, amount: 1, limit: $0.limit)
    }
    for (counter, node) in [first, second, first].enumerated() {
      let request = Requests.assertion(0, counter: UInt32(counter + 1), id: counter, charges: charges)
      #expect(try await node.ledger.admit(request).isAdmitted)
    }
    _ = try await second.ledger.sweep(now: Requests.now + 100_000)
    // A fortnight later the address and its period are forgotten by one node; the other still had their numbers.
    let later = Requests.now + 14 * 86_400_000
    _ = try await second.ledger.sweep(now: later)
    _ = try await second.ledger.sweep(now: later)
    #expect(try await fixture.number("select count(*) from subjects") == 0)
    let today = Window(id: "2027-01-29", start: later - 1_000, end: later + 80_000_000)
    let fresh = [
      Charge(
        subject: .address("192.0.2.9"), rule: "daily", amount: 1,
        limit: .window(today, limit: 1, unit: .requests)
      )
    ]
    let again = Requests.assertion(0, counter: 10, id: 10, charges: fresh, now: later)
    #expect(try await first.ledger.admit(again).isAdmitted)
    let over = Requests.assertion(0, counter: 11, id: 11, charges: fresh, now: later)
    #expect(try await !second.ledger.admit(over).isAdmitted)
    #expect(try await fixture.number("select count(*) from subjects") == 1)
    #expect(try await second.keys.revoke(StoreFixture.keyID(0)))
    #expect(try await first.ledger.admit(Requests.assertion(0, counter: 12, id: 12)).refusal == .unknownKey)
  }
}
