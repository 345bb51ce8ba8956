import Accounts
import Admission
import Encodings
import Gateway
import SQL
import Stores
import Testing

@Suite("Limits on a database") struct LimitContractTests {
  private func charge(
    _ rule: String, _ window: Window, _ limit: Int64, _ unit: QuotaUnit, _ amount: Int64 = 1,
    _ subject: Subject = .key, alarms: Bool = false
  ) -> Charge {
    Charge(
      subject: subject, rule: rule, amount: amount, limit: .window(window, limit: limit, unit: unit),
      alarms: alarms)
  }

  private func settle(
    _ ledger: SQLAdmissionLedger, _ number: Int, _ outcome: Settlement.Outcome
  ) async throws -> Bool {
    try await ledger.settle(
      Settlement(id: Requests.identifier(number), outcome: outcome, now: Requests.now + 5))
  }

  @Test(
    "Every unit is held, settled and swept, also by a ledger that did not reserve",
    arguments: Backend.allCases)
  func units(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let charges = [
      charge("r", Requests.day, 10, .requests), charge("t", Requests.day, 1 << 50, .tokens, 900),
      charge("i", Requests.month, 50, .images, 4),
      charge("m", Requests.month, 1 << 60, .money, 800, alarms: true),
    ]
    for number in 1...3 {
      let request = Requests.assertion(0, counter: UInt32(number), id: number, charges: charges, lease: 1_000)
      #expect(try await fixture.ledger.admit(request).isAdmitted)
    }
    #expect(try await fixture.sums("t:tokens") == (0, 2_700))
    let other = SQLAdmissionLedger(fixture.database, clock: .caller)
    #expect(try await settle(other, 1, .used(cost: 1, tokens: 2, images: 3)))
    #expect(try await settle(other, 2, .released(giveBackCount: false)))
    #expect(try await !settle(fixture.ledger, 1, .used(cost: 9, tokens: 9, images: 9)))
    #expect(try await fixture.ledger.sweep(now: Requests.now + 2_000) == 1)
    #expect(try await fixture.sums("r") == (3, 0))
    #expect(try await fixture.sums("t:tokens") == (902, 0))
    #expect(try await fixture.sums("i:images") == (7, 0))
    #expect(try await fixture.sums("m") == (801, 0))
    let left = try await fixture.ledger.remaining(
      keyID: StoreFixture.keyID(0), charges: charges, now: Requests.now)
    #expect(left.map(\.unit) == [.requests, .tokens, .images, .money])
    #expect(left.map(\.remaining) == [7, (1 << 50) - 902, 43, (1 << 60) - 801])
  }

  @Test(
    "An alarm is raised once, whichever node and after whatever restart, and told to the app's backend in its transaction",
    arguments: Backend.allCases)
  func alarms(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let accounts = AccountFixture(base: fixture)
    try await accounts.subscribe("https://app.example/hooks", [.budgetReached, .quotaReached])
    let charges = [
      charge("b", Requests.day, 100, .money, 10, .everyone, alarms: true),
      charge("c", Requests.day, 10, .requests, 1, .key, alarms: true),
    ]
    var told: [LimitAlarm] = []
    for number in 1...10 {
      // Each by another ledger, as after a restart, but for the settlement of every second.
      let ledger = SQLAdmissionLedger(fixture.database, clock: .caller)
      let request = Requests.assertion(0, counter: UInt32(number), id: number, charges: charges)
      #expect(try await ledger.admit(request).isAdmitted)
      let settling = number.isMultiple(of: 2) ? ledger : fixture.ledger
      #expect(try await settle(settling, number, .used(cost: 10)))
      for one in [ledger, fixture.ledger] { told += await one.takeAlarms() }
      if number.isMultiple(of: 2) { #expect(await fixture.ledger.takeAlarms() == []) }
    }
    #expect(told.filter { $0.rule == "b" }.map(\.share) == [50, 80, 100])
    #expect(told.filter { $0.rule == "b" }.map(\.used) == [50, 80, 100])
    #expect(told.filter { $0.rule == "c" }.map(\.share) == [50, 80, 100])
    let refused = Requests.assertion(0, counter: 11, id: 11, charges: [charges[0]])
    #expect(try await !fixture.ledger.admit(refused).isAdmitted)
    #expect(await fixture.ledger.takeAlarms() == [])
    let events = try await fixture.database.read {
      try await $0.rows("select type, data from outgoing_events order by id") {
        let data = try JSONReader.read(Array($0.string(1).utf8))
        return [
          $0.string(0), data["rule"]?.string ?? "", "\(data["percent"]?.integer ?? 0)",
          "\(data["window_end"]?.integer ?? 0)",
        ]
      }
    }
    let end = "\(Requests.day.end / 1_000)"
    #expect(
      events.filter { $0[1] == "b" } == [50, 80, 100].map { ["budget.reached", "b", "\($0)", end] })
    #expect(events.filter { $0[1] == "c" } == [50, 80, 100].map { ["quota.reached", "c", "\($0)", end] })
  }

  @Test("A refusal that tells of a budget's end keeps that, and counts nothing", arguments: Backend.allCases)
  func refusal(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let budget = charge("b", Requests.day, 100, .money, 101, .everyone, alarms: true)
    for number in 1...3 {
      let ledger = SQLAdmissionLedger(fixture.database, clock: .caller)
      let request = Requests.assertion(0, counter: UInt32(number), id: number, charges: [budget])
      #expect(try await !ledger.admit(request).isAdmitted)
      #expect(await ledger.takeAlarms().map(\.share) == (number == 1 ? [100] : []))
    }
    #expect(try await fixture.sums("b") == (0, 0))
  }

  @Test(
    "RULES §4.3: 50 times deleted and back under another id, one Apple account has one allowance",
    arguments: Backend.allCases)
  func comesBack(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.base.registerMany(51)
    let names = PersonNames(
      secret: try await SQLSigningKeyStore(fixture.database).personSecret(
        fresh: [UInt8](repeating: 7, count: 32)))
    let limit: Int64 = 60
    var (admitted, number) = (0, 0)
    for life in 1...50 {
      let now = AccountFixture.now + Int64(life)
      let user = try await fixture.signIn(1, token: life, life, now: now).get().user
      for _ in 0..<3 {
        number += 1
        // Each life on a phone of its own, so that nothing but the person is the same.
        var request = Requests.assertion(
          life, counter: UInt32(number), id: number,
          charges: [
            charge("q", Requests.day, limit, .requests, 1, .user),
            charge("q", Requests.day, limit, .requests, 1, .person),
          ])
        request.user = KeyUser(id: user.id.description, person: names.name(of: user), changes: [])
        if try await fixture.base.ledger.admit(request).isAdmitted { admitted += 1 }
      }
      #expect(try await fixture.delete(user.id, now: now))
    }
    #expect(admitted == Int(limit))
    #expect(try await fixture.count("users") == 0)
  }

  @Test(
    "RULES §4.3: what was used before linking counts for the person after unlinking or deleting",
    arguments: Backend.allCases)
  func carried(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.base.register(0)
    let names = PersonNames(
      secret: try await SQLSigningKeyStore(fixture.database).personSecret(
        fresh: [UInt8](repeating: 7, count: 32)))
    let guest = try await fixture.signUp(1)
    var request = Requests.assertion(
      0, counter: 1, id: 1,
      charges: [
        charge("q", Requests.day, 10, .requests, 3, .user), charge("b", Requests.day, 100, .money, 40, .user),
        charge("old", Window(id: "o", start: 1, end: AccountFixture.now), 9, .requests, 2, .user),
        Charge(subject: .user, rule: "u", amount: 1, limit: .burst(interval: 1, burst: 9)),
      ])
    request.user = KeyUser(id: guest.user.id.description, person: nil, changes: [])
    #expect(try await fixture.base.ledger.admit(request).isAdmitted)
    let linked = try await fixture.link(1, token: 1, 5, bearer: guest.session.id).get()
    #expect(try await fixture.delete(linked.user.id, now: AccountFixture.now + 1))
    let back = try await fixture.signIn(1, token: 2, 9).get()
    let person = try #require(names.name(of: back.user))
    #expect(person == names.name(of: linked.user))
    let rows = try await fixture.database.read {
      try await $0.rows(
        """
        select r.name, l.used, l.held from lines l join subjects s on s.id = -l.subject join rules r on r.id = l.rule
        where s.kind = 6 and s.name = $1 order by r.name
        """, [.text(person)]
      ) { "\($0.string(0)) \($0.int64(1)) \($0.int64(2))" }
    }
    // What is held counts in full; bursts and windows that are over do not.
    #expect(rows == ["b 40 0", "q 3 0"])
    // The reservation settles where it was made, once.
    #expect(try await settle(fixture.base.ledger, 1, .used(cost: 5)))
    #expect(try await fixture.base.sums("b") == (45, 0))
  }

  @Test(
    "RULES §5.5: 200 who race for one budget and one quota, of whom some err, leave and die: the ceilings hold, nothing leaks, each is settled once",
    arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(10)
    // Two nodes on PostgreSQL; on SQLite two ledgers would be two servers, which the data directory forbids.
    let ledgers =
      backend == .postgreSQL
      ? [fixture.ledger, SQLAdmissionLedger(fixture.database, clock: .caller)] : [fixture.ledger]
    let (budget, quota, images): (Int64, Int64, Int64) = (10_000, 120, 300)
    let charges = [
      charge("quota", Requests.day, quota, .requests, 1, .everyone, alarms: true),
      charge("pictures", Requests.month, images, .images, 4, .everyone),
      charge("budget", Requests.month, budget, .money, 150, .everyone, alarms: true),
      Charge(subject: .key, rule: "running", amount: 1, limit: .inFlight(100)),
    ]
    struct Tally {
      var admitted = 0
      var cost: Int64 = 0
      var images: Int64 = 0
      var died = 0
    }
    let total = try await withThrowingTaskGroup(of: Tally.self) { group in
      for number in 1...200 {
        group.addTask {
          let ledger = ledgers[number % ledgers.count]
          var tally = Tally()
          let request = Requests.assertion(
            number % 10, counter: UInt32(number / 10 + 1), id: number, charges: charges, lease: 1_000)
          guard try await ledger.admit(request).isAdmitted else { return tally }
          tally.admitted = 1
          if number.isMultiple(of: 9) {
            // Its server dies; the sweep books the hold.
            tally.died = 1
            return tally
          }
          let outcome: Settlement.Outcome
          switch number % 4 {
          case 0: outcome = .released(giveBackCount: true)
          case 1: outcome = .released(giveBackCount: false)
          default: outcome = .used(cost: Int64(number % 140), tokens: 9, images: Int64(number % 5))
          }
          let settlement = Settlement(id: request.id, outcome: outcome, now: Requests.now + 5)
          // Twice, by whichever node: an answer was lost.
          let both = [try await ledger.settle(settlement), try await ledgers[0].settle(settlement)]
          #expect(both == [true, false])
          if case .used(let cost, _, let images) = outcome { (tally.cost, tally.images) = (cost, images) }
          return tally
        }
      }
      return try await group.reduce(into: Tally()) { sum, one in
        sum.admitted += one.admitted
        sum.cost += one.cost
        sum.images += one.images
        sum.died += one.died
      }
    }
    #expect(total.admitted > 40)
    let swept = try await fixture.ledger.sweep(now: Requests.now + 5_000)
    #expect(swept == total.died)
    let money = try await fixture.sums("budget")
    #expect(money == (total.cost + Int64(total.died) * 150, 0))
    #expect(money.used <= budget)
    let pictures = try await fixture.sums("pictures:images")
    #expect(pictures == (total.images + Int64(total.died) * 4, 0))
    #expect(pictures.used <= images)
    let counted = try await fixture.sums("quota")
    #expect(counted.held == 0 && counted.used <= quota && counted.used <= Int64(total.admitted))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.openReservations() == 0)
    // No share was told twice.
    var told: [String] = []
    for ledger in ledgers { told += await ledger.takeAlarms().map { "\($0.rule) \($0.share)" } }
    #expect(Set(told).count == told.count)
  }

  @Test("The secret of persons is made once, by whoever is first", arguments: Backend.allCases)
  func secret(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = SQLSigningKeyStore(fixture.database)
    let secrets = try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for number in 1...8 {
        group.addTask { try await store.personSecret(fresh: [UInt8](repeating: UInt8(number), count: 32)) }
      }
      return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    #expect(secrets.count == 1)
    #expect(try await store.personSecret(fresh: []) == secrets.first)
  }
}
