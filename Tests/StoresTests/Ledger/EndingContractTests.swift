import Admission
import Gateway
import SQL
import Stores
import Testing

/// What becomes of calls whose server died.
@Suite("Reservations that nobody settles") struct EndingContractTests {
  private let unsettled = UsageRecord(
    keyID: nil, userID: nil, route: "/functions/v1/calories", provider: "anthropic",
    model: "claude-haiku-4-5",
    status: 0, cost: 70, estimated: true, startedAt: Requests.now - 4, function: "calories")
  private let late = Requests.now + 60_001

  private func admit(
    _ fixture: StoreFixture, _ number: Int, _ charges: [Charge], _ unsettled: UsageRecord?,
    user: KeyUser? = nil
  ) async throws {
    var request = Requests.assertion(0, counter: UInt32(number), id: number, charges: charges)
    request.unsettled = unsettled
    request.user = user
    #expect(try await fixture.ledger.admit(request).isAdmitted)
  }

  private func note(_ fixture: StoreFixture, _ number: Int, _ ending: [UInt8]) async throws {
    let changed = try await fixture.database.write {
      try await $0.execute(
        "update reservations set ending = $2 where id = $1",
        [.blob(Requests.identifier(number)), .blob(ending)])
    }
    #expect(changed == 1)
  }

  private func rows(_ fixture: StoreFixture) async throws -> [UsageRecord] {
    try await fixture.usage.usage(from: 0, to: .max, limit: 100)
  }

  @Test(
    "RULES §5.2: a call whose server died is booked at its hold, with what it was and whose",
    arguments: Backend.allCases, [false, true])
  func named(backend: Backend, isAnew: Bool) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    try await admit(
      fixture, 1, [Requests.running(10), Requests.money(70, of: 1_000), Requests.daily(5)], unsettled,
      user: KeyUser(id: "ada", changes: []))
    // Another process sweeps than let it in.
    let ledger = isAnew ? SQLAdmissionLedger(fixture.database, clock: .caller) : fixture.ledger
    #expect(try await ledger.sweep(now: late) == 1)
    var expected = unsettled
    (expected.keyID, expected.userID) = (StoreFixture.keyID(0), "ada")
    #expect(try await rows(fixture) == [expected])
    #expect(try await fixture.sums("budget") == (70, 0))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.sums("daily") == (1, 0))
    #expect(try await ledger.sweep(now: late) == 0)
  }

  @Test("without a budget the row says all the same what the call can have cost", arguments: Backend.allCases)
  func noBudget(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    try await admit(fixture, 1, [Requests.running(10)], unsettled)
    #expect(try await fixture.ledger.sweep(now: late) == 1)
    #expect(try await rows(fixture).map(\.cost) == [70])
  }

  @Test(
    "a row of an older version, or one that cannot be read, is swept at its hold without a name",
    arguments: Backend.allCases)
  func nameless(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    try await admit(fixture, 1, [Requests.money(70, of: 1_000)], nil)
    try await admit(fixture, 2, [Requests.money(30, of: 1_000)], unsettled)
    try await note(fixture, 2, [1, 0, 255])
    #expect(try await fixture.ledger.sweep(now: late) == 2)
    let rows = try await rows(fixture)
    #expect(rows.map(\.cost).sorted() == [30, 70] && rows.allSatisfy { $0.provider.isEmpty && $0.estimated })
    #expect(try await fixture.sums("budget") == (100, 0))
  }

  @Test(
    "RULES §5.2, §5.5: what was known when the server died is booked as it was, once, whoever comes first",
    arguments: Backend.allCases, [false, true])
  func known(backend: Backend, isAnew: Bool) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let dear = ProviderModel(provider: "anthropic", name: "dear")
    var usage = unsettled
    (usage.cost, usage.estimated, usage.status, usage.outputTokens) = (90, false, 200, 7)
    for number in 1...20 {
      try await admit(
        fixture, number, [Requests.running(100), Requests.money(70, of: 100_000)], unsettled)
      let settlement = Settlement(
        id: Requests.identifier(number), outcome: .used(cost: 90), now: Requests.now, usage: usage,
        closure: ModelClosure(model: dear, closedAt: Requests.now, cost: 90, reserve: 70))
      try await note(fixture, number, ReservationEnding.known(settlement).octets)
    }
    #expect(try await fixture.ledger.sweep(now: Requests.now + 59_999) == 0, "their leases last")
    let ledger = isAnew ? SQLAdmissionLedger(fixture.database, clock: .caller) : fixture.ledger
    let (time, booked) = (late, usage)
    // Sweeps of two ledgers, and servers that were not dead after all.
    let ended = try await withThrowingTaskGroup(of: Int.self) { group in
      group.addTask { try await ledger.sweep(now: time) }
      group.addTask { try await ledger.sweep(now: time) }
      for number in 1...20 {
        group.addTask {
          let settlement = Settlement(
            id: Requests.identifier(number), outcome: .used(cost: 90), now: time, usage: booked)
          return try await fixture.ledger.settle(settlement) ? 1 : 0
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(ended == 20)
    usage.keyID = StoreFixture.keyID(0)
    #expect(try await rows(fixture) == Array(repeating: usage, count: 20))
    #expect(try await fixture.sums("budget") == (1_800, 0))
    #expect(try await fixture.sums("running") == (0, 0))
    #expect(try await fixture.openReservations() == 0)
  }

  @Test("a model that cost too much is closed by the sweep too", arguments: Backend.allCases)
  func closes(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let dear = ProviderModel(provider: "anthropic", name: "dear")
    try await admit(fixture, 1, [Requests.money(70, of: 1_000)], unsettled)
    let settlement = Settlement(
      id: Requests.identifier(1), outcome: .used(cost: 90), now: Requests.now,
      closure: ModelClosure(model: dear, closedAt: Requests.now, cost: 90, reserve: 70))
    try await note(fixture, 1, ReservationEnding.known(settlement).octets)
    #expect(try await fixture.ledger.sweep(now: late) == 1)
    #expect(try await SQLModelClosureStore(fixture.database).closures().map(\.model) == [dear])
    #expect(try await fixture.sums("budget") == (90, 0))
  }
}
