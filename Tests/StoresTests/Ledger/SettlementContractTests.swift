import Admission
import AppAttest
import Gateway
import SQL
import Stores
import Testing

@Suite("Settlement on a database") struct SettlementContractTests {
  private func usage(cost: Int64) -> UsageRecord {
    UsageRecord(
      keyID: StoreFixture.keyID(0), userID: nil, route: "/ai/anthropic/v1/messages", provider: "anthropic",
      model: "m", status: 200, inputTokens: 10, cacheReadTokens: 1, cacheWrite5mTokens: 2,
      cacheWrite1hTokens: 3,
      outputTokens: 20, cost: cost, startedAt: Requests.now, firstByte: 4, duration: 9)
  }

  private func admit(_ fixture: StoreFixture, _ number: Int, _ charges: [Charge]) async throws -> Bool {
    try await fixture.ledger.admit(
      Requests.assertion(0, counter: UInt32(number), id: number, charges: charges)
    ).isAdmitted
  }

  private func settle(
    _ fixture: StoreFixture, _ number: Int, _ outcome: Settlement.Outcome, usage: UsageRecord? = nil
  ) async throws -> Bool {
    try await fixture.ledger.settle(
      Settlement(id: Requests.identifier(number), outcome: outcome, now: Requests.now + 5, usage: usage))
  }

  @Test("Each reservation is settled once, by whoever of many comes first", arguments: Backend.allCases)
  func once(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    for number in 1...20 {
      #expect(try await admit(fixture, number, [Requests.running(100), Requests.money(1_000, of: 20_000)]))
    }
    #expect(try await !admit(fixture, 21, [Requests.money(1, of: 20_000)]))
    let settled = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 1...20 {
        for _ in 0..<5 {
          group.addTask { try await settle(fixture, number, .used(cost: 30), usage: usage(cost: 30)) }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(settled == 20)
    #expect(try await fixture.sums("budget") == (600, 0))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.openReservations() == 0)
    let window = Window(id: "", start: Requests.now, end: Requests.now + 1)
    let totals = try await fixture.usage.usageSums(in: [window], by: [.provider])
    #expect(totals.map(\.cost) == [600])
    #expect(totals.map(\.requests) == [20])
    #expect(totals.map(\.cacheWriteTokens) == [100])
    let list = try await fixture.usage.usage(from: 0, to: .max, limit: 3)
    #expect(list == Array(repeating: usage(cost: 30), count: 3))
  }

  @Test(
    "RULES §5.2: a model that cost too much is closed in the step that books it, until it is acknowledged",
    arguments: Backend.allCases)
  func closing(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let (dear, cheap) = (
      ProviderModel(provider: "anthropic", name: "dear"), ProviderModel(provider: "anthropic", name: "cheap")
    )
    var number = 0
    func ask(_ model: ProviderModel, _ ledger: SQLAdmissionLedger) async throws -> AdmissionRefusal? {
      number += 1
      var request = Requests.assertion(
        0, counter: UInt32(number), id: number, charges: [Requests.daily(100), Requests.money(10, of: 1_000)])
      request.model = model
      return try await ledger.admit(request).refusal
    }
    #expect(try await ask(dear, fixture.ledger) == nil)
    let closure = ModelClosure(model: dear, closedAt: Requests.now + 5, cost: 30, reserve: 10)
    let settlement = Settlement(
      id: Requests.identifier(1), outcome: .used(cost: 30), now: Requests.now + 5, closure: closure)
    #expect(try await fixture.ledger.settle(settlement))
    var late = settlement
    late.closure = ModelClosure(model: cheap, closedAt: Requests.now + 6, cost: 31, reserve: 10)
    #expect(try await !fixture.ledger.settle(late), "a settlement that comes second closes all the same")
    // A ledger made anew, as by a restart, knows it too.
    for ledger in [fixture.ledger, SQLAdmissionLedger(fixture.database, clock: .caller)] {
      #expect(try await ask(dear, ledger) == .modelClosed)
      #expect(try await ask(cheap, ledger) == .modelClosed)
    }
    #expect(try await fixture.sums("daily") == (1, 0), "a refusal counts nothing")
    #expect(try await fixture.sums("budget") == (30, 0))
    let closures = SQLModelClosureStore(fixture.database)
    #expect(try await closures.closures().map(\.model) == [dear, cheap])
    #expect(try await closures.closures().first == closure)
    #expect(try await closures.reopen(dear))
    #expect(try await !closures.reopen(dear))
    #expect(try await ask(dear, fixture.ledger) == nil)
    #expect(try await ask(cheap, fixture.ledger) == .modelClosed)
    // The evidence of a refused call is used up (RULES §1.5).
    var again = Requests.assertion(0, counter: UInt32(number), id: 99)
    again.model = dear
    #expect(try await fixture.ledger.admit(again).refusal == .counterReplayed)
  }

  @Test("RULES §5.2: an actual above the reserve is booked as it is", arguments: Backend.allCases)
  func above(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    #expect(try await admit(fixture, 1, [Requests.money(100, of: 150)]))
    #expect(try await settle(fixture, 1, .used(cost: 170)))
    #expect(try await fixture.sums("budget") == (170, 0))
    #expect(try await !admit(fixture, 2, [Requests.money(1, of: 150)]))
  }

  @Test("RULES §5.4: five counts a key a day are given back, bursts never", arguments: Backend.allCases)
  func giveBack(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(2)
    let charges = [
      Requests.running(1), Requests.burst(every: 3_600_000_000_000, 20), Requests.daily(8),
      Requests.daily(100, .everyone, window: Requests.month), Requests.money(10, of: 10),
    ]
    for number in 1...8 {
      #expect(try await admit(fixture, number, charges))
      #expect(try await settle(fixture, number, .released(giveBackCount: true)))
    }
    // 8 counted by the key and 8 by everyone, 5 of each given back.
    #expect(try await fixture.sums("daily") == (6, 0))
    #expect(try await fixture.sums("budget") == (0, 0))
    for number in 9...13 {
      #expect(try await admit(fixture, number, charges))
      #expect(try await settle(fixture, number, .released(giveBackCount: false)))
    }
    let last = try await fixture.ledger.admit(Requests.assertion(0, counter: 14, id: 14, charges: charges))
    guard case .refused(.exhausted(_)) = last else { Issue.record("\(last)"); return }
    // Another key has its own five.
    #expect(
      try await fixture.ledger.admit(Requests.assertion(1, counter: 1, id: 50, charges: charges)).isAdmitted)
    #expect(try await settle(fixture, 50, .released(giveBackCount: true)))
    #expect(try await fixture.sums("daily") == (16, 0))
  }

  @Test("RULES §5.6: settling goes to the window that the reservation names", arguments: Backend.allCases)
  func namedWindow(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let money = Charge(
      subject: .key, rule: "budget", amount: 50, limit: .window(Requests.day, limit: 50, unit: .money))
    #expect(try await admit(fixture, 1, [money]))
    var tomorrow = Requests.day
    tomorrow.id = "2027-01-16"
    tomorrow.start = Requests.day.end
    tomorrow.end = Requests.day.end + 86_400_000
    var next = money
    next.limit = .window(tomorrow, limit: 50, unit: .money)
    let request = Requests.assertion(0, counter: 2, id: 2, charges: [next], now: tomorrow.start + 1)
    #expect(try await fixture.ledger.admit(request).isAdmitted)
    #expect(try await settle(fixture, 1, .used(cost: 7)))
    let rows = try await fixture.database.read {
      try await $0.rows(
        "select p.starts, l.used, l.held from lines l join periods p on p.id = l.period order by 1"
      ) {
        [$0.int64(0), $0.int64(1), $0.int64(2)]
      }
    }
    #expect(rows == [[Requests.day.start, 7, 0], [tomorrow.start, 0, 50]])
  }

  @Test(
    "A lease that nobody renews is swept at the full hold, a renewed one is not", arguments: Backend.allCases)
  func leases(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let charges = [Requests.running(2), Requests.daily(10), Requests.money(40, of: 1_000)]
    #expect(try await admit(fixture, 1, charges))
    #expect(try await admit(fixture, 2, charges))
    #expect(try await !admit(fixture, 3, charges))
    #expect(try await fixture.ledger.renew(Requests.identifier(2), for: 120_000, now: Requests.now))
    // A renewal that comes late never shortens a lease.
    #expect(try await fixture.ledger.renew(Requests.identifier(2), for: 1, now: Requests.now))
    #expect(try await fixture.ledger.renew(Requests.identifier(9), for: .max, now: Requests.now) == false)
    #expect(try await fixture.ledger.sweep(now: Requests.now + 60_000) == 0)
    #expect(try await fixture.ledger.sweep(now: Requests.now + 60_001) == 1)
    #expect(try await fixture.sums("budget") == (40, 40))
    #expect(try await fixture.sums("running") == (0, 1))
    #expect(try await fixture.sums("daily") == (2, 0))
    #expect(try await settle(fixture, 1, .used(cost: 3)) == false)
    #expect(try await fixture.ledger.renew(Requests.identifier(1), for: .max, now: Requests.now) == false)
    #expect(try await settle(fixture, 2, .used(cost: 3)))
    #expect(try await fixture.sums("budget") == (43, 0))
    let swept = try await fixture.usage.usage(from: 0, to: .max, limit: 10)
    #expect(swept.map(\.cost) == [40])
    #expect(swept.map(\.estimated) == [true])
    #expect(try await admit(fixture, 4, charges))
  }

  @Test(
    "A request that holds nothing and that nobody settles keeps no reservation", arguments: Backend.allCases)
  func noReservation(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let light = Requests.assertion(0, counter: 1, id: 1, charges: [Requests.daily(5)], lease: nil)
    #expect(try await fixture.ledger.admit(light).isAdmitted)
    #expect(try await fixture.openReservations() == 0)
    let holding = Requests.assertion(0, counter: 2, id: 2, charges: [Requests.running(5)], lease: nil)
    #expect(try await fixture.ledger.admit(holding).isAdmitted)
    #expect(try await fixture.openReservations() == 1)
  }

  @Test(
    "Races over shared rows never over-admit, and every sum agrees at the end", arguments: Backend.allCases)
  func races(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(8)
    let charges = [
      Requests.running(3), Requests.daily(30), Requests.money(100, of: 9_000, .everyone),
      Requests.daily(150, .app, window: Requests.month),
    ]
    let booked = try await withThrowingTaskGroup(of: (Int64, Int64).self) { group in
      for worker in 0..<32 {
        group.addTask {
          var (money, counted) = (Int64(0), Int64(0))
          for round in 0..<12 {
            let number = worker * 12 + round + 1
            let request = Requests.assertion(
              worker % 8, counter: UInt32(worker / 8 * 12 + round + 1), id: number, charges: charges)
            guard try await fixture.ledger.admit(request).isAdmitted else { continue }
            counted += 1
            let cost = Int64(number % 7) * 10
            #expect(try await settle(fixture, number, .used(cost: cost)))
            money += cost
          }
          return (money, counted)
        }
      }
      return try await group.reduce(into: (Int64(0), Int64(0))) {
        $0.0 += $1.0; $0.1 += $1.1
      }
    }
    #expect(booked.1 > 20 && booked.1 <= 150)
    #expect(try await fixture.sums("budget") == (booked.0, 0))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.sums("daily") == (booked.1 * 2, 0))
    #expect(try await fixture.openReservations() == 0)
  }

  @Test("What is left is told without counting", arguments: Backend.allCases)
  func remaining(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let charges = [Requests.running(2), Requests.daily(10), Requests.money(40, of: 1_000)]
    #expect(try await admit(fixture, 1, charges))
    for _ in 0..<2 {
      let left = try await fixture.ledger.remaining(
        keyID: StoreFixture.keyID(0), charges: charges, now: Requests.now)
      #expect(left.map(\.remaining) == [9, 960])
      #expect(left.map(\.rule) == ["daily", "budget"])
    }
    let unknown = try await fixture.ledger.remaining(
      keyID: StoreFixture.keyID(7), charges: charges, now: Requests.now)
    #expect(unknown == [])
  }
}
