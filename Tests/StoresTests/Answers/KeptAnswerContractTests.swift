import Gateway
import SQL
import Stores
import Testing

@Suite("Answers that are kept for repeats, on every database")
struct KeptAnswerContractTests {
  private static let now: Int64 = StoreFixture.epoch * 1000

  private func claim(_ number: Int = 1, body: Int = 1, run: Int = 1) -> AnswerClaim {
    AnswerClaim(
      id: StoreFixture.octets(number, 32), bodyHash: StoreFixture.octets(body, 32),
      run: StoreFixture.octets(run, 16), user: nil)
  }

  private func store(_ fixture: StoreFixture) -> SQLKeptAnswerStore {
    SQLKeptAnswerStore(fixture.database, clock: .caller)
  }

  private func take(
    _ store: SQLKeptAnswerStore, _ claim: AnswerClaim, after: Int64 = 0
  ) async throws -> AnswerState {
    try await store.claim(claim, lease: 90_000, life: 600_000, now: Self.now + after)
  }

  @Test(
    "RULES §5.8: the first has the claim, a repeat finds it running, then kept", arguments: Backend.allCases)
  func way(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    let first = claim()
    #expect(try await store.state(first.id, now: Self.now) == .free)
    #expect(try await take(store, first) == .claimed)
    #expect(try await take(store, claim(run: 2)) == .running(run: claim().run))
    #expect(try await take(store, claim(body: 2, run: 2)) == .mismatched)
    #expect(try await take(store, claim(2, run: 2)) == .claimed)
    #expect(
      try await !store.finish(
        first.id, run: StoreFixture.octets(2, 16), sealed: [1], life: 600_000, now: Self.now))
    #expect(
      try await store.finish(first.id, run: first.run, sealed: [7, 8], life: 600_000, now: Self.now + 9))
    #expect(try await take(store, claim(run: 3), after: 10) == .kept([7, 8]))
    #expect(try await take(store, claim(body: 2, run: 3), after: 10) == .mismatched)
    #expect(
      try await !store.finish(first.id, run: first.run, sealed: nil, life: 600_000, now: Self.now + 10),
      "a run ends once")
    #expect(try await !store.renew(first.id, run: first.run, lease: 1, life: 1, now: Self.now))
    try await store.withdraw(first.id, run: first.run)
    #expect(try await store.state(first.id, now: Self.now + 10) == .kept([7, 8]))
  }

  @Test(
    "RULES §5.8: an answer is gone after its ten minutes, and its key is free", arguments: Backend.allCases)
  func forgotten(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    #expect(try await take(store, claim()) == .claimed)
    _ = try await store.finish(
      claim().id, run: claim().run, sealed: [1], life: 600_000, now: Self.now)
    #expect(try await store.state(claim().id, now: Self.now + 599_999) == .kept([1]))
    #expect(try await store.state(claim().id, now: Self.now + 600_000) == .free)
    #expect(try await store.sweep(now: Self.now + 599_999) == 0)
    #expect(try await take(store, claim(body: 9, run: 2), after: 600_000) == .claimed)
    #expect(try await store.sweep(now: Self.now + 600_000) == 0)
    #expect(try await store.sweep(now: Self.now + 9_000_000) == 1)
    let rows = try await fixture.database.read { transaction in
      try await transaction.first("select count(*) from kept_answers") { $0.int64(0) }
    }
    #expect(rows == 0)
  }

  @Test(
    "RULES §5.8: a run that died leaves an incomplete answer, one that lives does not",
    arguments: Backend.allCases)
  func died(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    #expect(try await take(store, claim()) == .claimed)
    #expect(try await take(store, claim(run: 2), after: 89_999) == .running(run: claim().run))
    #expect(
      try await store.renew(
        claim().id, run: claim().run, lease: 90_000, life: 600_000, now: Self.now + 80_000))
    #expect(try await take(store, claim(run: 2), after: 169_999) == .running(run: claim().run))
    #expect(try await take(store, claim(run: 2), after: 170_000) == .incomplete(run: claim().run))
    #expect(try await store.state(claim().id, now: Self.now + 170_000) == .incomplete(run: claim().run))
  }

  @Test("what was taken back is free, and what was not whole is incomplete", arguments: Backend.allCases)
  func ended(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    #expect(try await take(store, claim()) == .claimed)
    try await store.withdraw(claim().id, run: StoreFixture.octets(5, 16))
    #expect(try await take(store, claim(run: 2)) == .running(run: claim().run))
    try await store.withdraw(claim().id, run: claim().run)
    #expect(try await take(store, claim(run: 2)) == .claimed)
    #expect(
      try await store.finish(claim().id, run: claim(run: 2).run, sealed: nil, life: 600_000, now: Self.now))
    #expect(try await take(store, claim(run: 3)) == .incomplete(run: claim(run: 2).run))
  }

  @Test("RULES §5.8: of 50 that come at once one has the claim", arguments: Backend.allCases)
  func race(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    let states = try await withThrowingTaskGroup(of: AnswerState.self) { group in
      for run in 1...50 { group.addTask { try await take(store, claim(run: run)) } }
      return try await group.reduce(into: [AnswerState]()) { $0.append($1) }
    }
    #expect(states.count { $0 == .claimed } == 1)
    #expect(states.count { if case .running = $0 { true } else { false } } == 49)
  }

  @Test("RULES §5.8: an answer goes with its user's account", arguments: Backend.allCases)
  func account(_ backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = store(fixture)
    let user = StoreFixture.octets(77, 16)
    try await fixture.database.write { transaction in
      _ = try await transaction.execute(
        """
        insert into users (id, is_anonymous, app_metadata, user_metadata, created_at, updated_at)
        values ($1, 1, '{}', '{}', 1, 1)
        """, [.uuid(user)])
    }
    var mine = claim()
    mine.user = user
    #expect(try await take(store, mine) == .claimed)
    _ = try await store.finish(mine.id, run: mine.run, sealed: [1], life: 600_000, now: Self.now)
    var stranger = claim(2)
    stranger.user = StoreFixture.octets(78, 16)
    #expect(
      try await take(store, stranger) == .claimed, "a user who is gone already keeps nothing from working")
    try await fixture.database.write { transaction in
      _ = try await transaction.execute("delete from users where id = $1", [.uuid(user)])
    }
    #expect(try await store.state(mine.id, now: Self.now) == .free)
  }
}
