import Accounts
import Encodings
import Stores
import Testing

@Suite("Idle users") struct IdleUserTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now
  private let idle: Int64 = 180 * 86_400_000

  /// Deletes those who are idle, as the server's job does; how many.
  private func remove(_ fixture: Fixture, at time: Int64) async throws -> Int {
    let store = SQLDeletionStore(fixture.database)
    var (removed, after) = (0, UUID?.none)
    while true {
      let users = try await fixture.users.idle(since: time - idle, after: after, limit: 2)
      for user in users {
        let request = DeletionRequest(
          user: user, operation: DeletionFixture.operation(Int(user.octets[8])), origin: .server,
          policy: .eventual, proof: .idle(since: time - idle), reason: "idle", lease: time + 1, now: time)
        switch try await store.begin(request) {
        case .success(let begun):
          #expect(try await store.finish(begun.deletion.id, now: time).get().state == .deleted)
          removed += 1
        case .failure(let refusal): #expect(refusal == .notIdle)
        }
      }
      guard users.count == 2 else { return removed }
      after = users.last
    }
  }

  @Test(
    "RULES §3.10: who was refreshed since, signed in once or was changed stays", arguments: Backend.allCases)
  func kept(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...4 { _ = try await fixture.signUp(number) }
    _ = try await fixture.signIn(5, token: 1, 5).get()
    _ = try await fixture.users.create(
      User(id: Fixture.id(6), isAnonymous: false, createdAt: now, updatedAt: now))
    let later = now + idle - 1
    _ = try await fixture.refresh(Fixture.id(20_002), 0, now: later)
    _ = try await fixture.users.update(Fixture.id(3), UserChange(appMetadata: ["a": 1]), now: later)
    #expect(try await fixture.accounts.signOut(Fixture.id(20_004), .global, now: now))
    #expect(try await remove(fixture, at: now + idle) == 0)
    #expect(try await remove(fixture, at: now + idle + 1) == 2)
    var left: [Int] = []
    for number in 1...6 where try await fixture.users.user(Fixture.id(number)) != nil { left.append(number) }
    #expect(left == [2, 3, 5, 6])
  }

  @Test("RULES §3.10: they are listed in pieces, each once", arguments: Backend.allCases)
  func pieces(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...5 { _ = try await fixture.signUp(number) }
    #expect(try await remove(fixture, at: now + idle + 1) == 5)
    #expect(try await fixture.count("users") == 0)
    #expect(try await fixture.audit().count { $0 == "user_deleted: idle" } == 5)
  }

  @Test(
    "RULES §3.10: who is seen between the look and the deletion is kept", arguments: Backend.allCases)
  func seen(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...3 { _ = try await fixture.signUp(number) }
    let time = now + idle + 1
    #expect(try await fixture.users.idle(since: time - idle, after: nil, limit: 9).count == 3)
    _ = try await fixture.refresh(Fixture.id(20_001), 0, now: time)
    _ = try await fixture.users.update(Fixture.id(2), UserChange(userMetadata: ["a": 1]), now: time)
    _ = try await fixture.link(3, token: 3, 33, bearer: Fixture.id(20_003), now: time).get()
    let store = SQLDeletionStore(fixture.database)
    for number in 1...3 {
      let request = DeletionRequest(
        user: Fixture.id(number), operation: DeletionFixture.operation(number), origin: .server,
        policy: .eventual, proof: .idle(since: time - idle), lease: time + 1, now: time)
      #expect(try await store.begin(request).refusal == .notIdle)
      #expect(try await fixture.users.user(Fixture.id(number))?.deletingSince == nil)
    }
    #expect(try await fixture.count("deletions") == 0)
  }

  @Test(
    "RULES §3.10: a session that is refreshed at the same time is never lost", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...20 { _ = try await fixture.signUp(number) }
    let time = now + idle + 1
    let refreshed = try await withThrowingTaskGroup(of: Int?.self) { group in
      group.addTask { [self] in
        _ = try await remove(fixture, at: time)
        return nil
      }
      for number in 1...20 {
        group.addTask {
          try await fixture.refresh(Fixture.id(20_000 + number), 0, now: time).session.map { _ in number }
        }
      }
      return try await group.reduce(into: [Int]()) { if let number = $1 { $0.append(number) } }
    }
    for number in refreshed { #expect(try await fixture.users.user(Fixture.id(number)) != nil) }
  }
}
