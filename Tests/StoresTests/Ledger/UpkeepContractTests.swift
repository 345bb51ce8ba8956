import Admission
import BramleyTesting
import Gateway
import SQL
import Stores
import Testing

@Suite("Forgetting what nobody asks for any more") struct UpkeepContractTests {
  private static let day: Int64 = 86_400_000

  private func number(_ fixture: StoreFixture, _ sql: String) async throws -> Int64 {
    try await fixture.database.read { try await $0.first(sql) { $0.int64(0) } ?? -1 }
  }

  private func addUsage(_ fixture: StoreFixture, ages: [Int64]) async throws {
    for (index, age) in ages.enumerated() {
      let id = 5_000 + index
      let request = Requests.make(.none, id: id, charges: [Requests.daily(1_000, .everyone)])
      #expect(try await fixture.ledger.admit(request).isAdmitted)
      let usage = UsageRecord(
        keyID: nil, userID: nil, route: "r", provider: "p", model: "m", status: 200, cost: 1,
        startedAt: Requests.now - age)
      #expect(
        try await fixture.ledger.settle(
          Settlement(id: request.id, outcome: .used(cost: 1), now: Requests.now, usage: usage)))
    }
  }

  @Test("Usage is forgotten by its age, the oldest first and a piece at a time", arguments: Backend.allCases)
  func usage(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let day = Self.day
    try await addUsage(fixture, ages: [0, 9 * day, 400 * day, 400 * day + 1, 500 * day, 401 * day])
    func forget(_ limit: Int) async throws -> Int {
      try await fixture.ledger.forgetUsage(olderThan: 400 * day, atMost: limit, now: Requests.now)
    }
    func ages() async throws -> [Int64] {
      try await fixture.usage.usage(from: 0, to: .max, limit: 100).map { Requests.now - $0.startedAt }
    }
    #expect(try await forget(1) == 1)
    #expect(try await ages() == [0, 9 * day, 400 * day, 400 * day + 1, 401 * day])
    #expect(try await forget(10) == 2)
    #expect(try await forget(10) == 0)
    #expect(try await ages() == [0, 9 * day, 400 * day], "the limit itself is kept")
    // No age that is written in a configuration reaches into what is to come.
    #expect(try await fixture.ledger.forgetUsage(olderThan: .max, atMost: 10, now: -5) == 0)
    #expect(try await ages().count == 3)
    #expect(try await fixture.sums("daily") == (6, 0), "counters are not usage")
  }

  @Test(
    "A period's rows go eight days after its end, those of now and of no period stay",
    arguments: Backend.allCases)
  func periods(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let later = Requests.day.end + 8 * Self.day
    let today = Window(id: "later", start: later - 1_000, end: later + Self.day)
    let charges = [
      Requests.daily(9), Requests.running(9), Requests.burst(every: 1, 9), Requests.money(5, of: 50),
    ]
    let open = Requests.assertion(0, counter: 1, id: 1, charges: charges, lease: 90 * Self.day)
    #expect(try await fixture.ledger.admit(open).isAdmitted)
    let second = Requests.assertion(
      0, counter: 2, id: 2, charges: [Requests.daily(9, window: today)], now: later, lease: 90 * Self.day)
    #expect(try await fixture.ledger.admit(second).isAdmitted)
    // The day's period ended eight days ago to the millisecond.
    #expect(try await fixture.ledger.sweep(now: later) == 0)
    #expect(try await fixture.sums("daily") == (2, 0))
    #expect(try await fixture.ledger.sweep(now: later + 1) == 0)
    #expect(try await fixture.sums("daily") == (1, 0))
    #expect(try await number(fixture, "select count(*) from periods") == 2)
    #expect(try await fixture.sums("running") == (0, 1))
    #expect(try await fixture.sums("budget") == (0, 5), "the month goes on")
    // A reservation that counted in what is forgotten ends all the same, and gives nothing back.
    #expect(
      try await fixture.ledger.settle(
        Settlement(id: open.id, outcome: .released(giveBackCount: true), now: later + 2)))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.sums("budget") == (0, 0))
    #expect(try await fixture.sums("daily") == (1, 0))
    let third = Requests.assertion(
      0, counter: 3, id: 3, charges: [Requests.daily(2, window: today)], now: later + 3)
    #expect(try await fixture.ledger.admit(third).isAdmitted)
    let fourth = Requests.assertion(
      0, counter: 4, id: 4, charges: [Requests.daily(2, window: today)], now: later + 4)
    #expect(try await !fixture.ledger.admit(fourth).isAdmitted, "the ledger still knows what it counted")
  }

  @Test(
    "Minutes that are over go an hour later, a hundred at a time, and what settles into one is let go",
    arguments: Backend.allCases)
  func minutes(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    for number in 0..<130 {
      let start = Requests.now + Int64(number) * 60_000
      let minute = Window(id: "m\(number)", start: start, end: start + 60_000)
      let request = Requests.assertion(
        0, counter: UInt32(number + 1), id: number,
        charges: [
          Charge(subject: .key, rule: "rate", amount: 1, limit: .window(minute, limit: 9, unit: .requests)),
          Charge(subject: .key, rule: "tokens", amount: 5, limit: .window(minute, limit: 9, unit: .tokens)),
        ], now: start, lease: 90 * Self.day)
      #expect(try await fixture.ledger.admit(request).isAdmitted)
    }
    let last = Requests.now + 130 * 60_000
    _ = try await fixture.ledger.sweep(now: last)
    // 69 minutes of two rules ended more than an hour ago.
    #expect(try await number(fixture, "select count(*) from periods") == 122)
    #expect(try await fixture.sums("rate") == (61, 0))
    #expect(
      try await fixture.ledger.settle(
        Settlement(id: Requests.identifier(3), outcome: .used(cost: 0, tokens: 4), now: last)))
    #expect(try await fixture.sums("tokens:tokens") == (0, 305))
    #expect(
      try await fixture.ledger.settle(
        Settlement(id: Requests.identifier(129), outcome: .used(cost: 0, tokens: 4), now: last)))
    #expect(try await fixture.sums("tokens:tokens") == (4, 300))
  }

  @Test(
    "Addresses that say nothing any more go; those that run, count or burst stay", arguments: Backend.allCases
  )
  func addresses(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let week = Requests.now + 7 * Self.day
    func charge(_ name: String, _ limit: Charge.Limit) -> Charge {
      Charge(subject: .address(name), rule: "r-\(name)", amount: 1, limit: limit)
    }
    let burst = Charge.Limit.burst(interval: 1_000_000, burst: 5)
    let requests = [
      Requests.make(.none, id: 1, charges: [charge("idle", burst)], lease: nil),
      Requests.make(.none, id: 2, charges: [charge("running", .inFlight(5))], lease: 90 * Self.day),
      Requests.make(
        .none, id: 3, charges: [charge("counting", .window(Requests.month, limit: 5, unit: .requests))],
        lease: nil),
      Requests.make(.none, id: 4, charges: [charge("recent", burst)], now: week - 3_600_000, lease: nil),
    ]
    for request in requests { #expect(try await fixture.ledger.admit(request).isAdmitted) }
    // What makes the upkeep due: an expired token.
    try await fixture.register(0)
    let exchange = Requests.assertion(0, counter: 1, id: 9)
    let token = SessionToken(
      hash: StoreFixture.octets(1, 32), routes: ["/r"], expiry: StoreFixture.epoch + 10)
    #expect(try await fixture.ledger.issueSession(exchange, token: token, atMost: 2).isAdmitted)
    _ = try await fixture.ledger.sweep(now: week)
    let names = try await fixture.database.read {
      try await $0.rows("select name from subjects order by name") { $0.string(0) }
    }
    #expect(names == ["counting", "recent", "running"])
    #expect(
      try await number(
        fixture, "select count(*) from lines l join rules r on r.id = l.rule where r.name = 'r-idle'")
        == 0)
    // It comes again as if it were new.
    let again = Requests.make(.none, id: 10, charges: [charge("idle", burst)], now: week, lease: nil)
    #expect(try await fixture.ledger.admit(again).isAdmitted)
    #expect(try await number(fixture, "select count(*) from subjects where name = 'idle'") == 1)
  }

  @Test("A heap of rows goes in pieces, so that no transaction is long", arguments: Backend.allCases)
  func pieces(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    #expect(
      try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 1, charges: [Requests.daily(9)]))
        .isAdmitted)
    try await fixture.database.write { transaction in
      let period = try await transaction.first("select id from periods") { $0.int64(0) } ?? 0
      let rule = try await transaction.first("select id from rules where name = 'daily'") { $0.int64(0) } ?? 0
      for subject in 1_000..<4_500 as Range<Int64> {
        try await transaction.execute(
          "insert into lines (subject, rule, period, used, held) values ($1, $2, $3, 1, 0)",
          [.integer(subject), .integer(rule), .integer(period)])
      }
    }
    let later = Requests.day.end + 9 * Self.day
    var left: [Int64] = []
    for _ in 0..<3 {
      _ = try await fixture.ledger.sweep(now: later)
      left.append(try await number(fixture, "select count(*) from lines where period > 0"))
    }
    #expect(left == [1_501, 0, 0])
    #expect(try await number(fixture, "select count(*) from periods") == 0)
  }
}
