import Accounts
import Encodings
import Stores
import Testing

@Suite("Idle users") struct IdleUserTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now
  private let idle: Int64 = 180 * 86_400_000

  private func remove(_ fixture: Fixture, at time: Int64, limit: Int64 = 100) async throws -> IdleRemoval {
    try await fixture.users.removeIdle(since: time - idle, after: nil, limit: limit, now: time)
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
    #expect(try await remove(fixture, at: now + idle) == IdleRemoval(removed: 0, next: nil))
    #expect(try await remove(fixture, at: now + idle + 1) == IdleRemoval(removed: 2, next: nil))
    var left: [Int] = []
    for number in 1...6 where try await fixture.users.user(Fixture.id(number)) != nil { left.append(number) }
    #expect(left == [2, 3, 5, 6])
  }

  @Test("RULES §3.10: they go in pieces, each looked at once", arguments: Backend.allCases)
  func pieces(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...5 { _ = try await fixture.signUp(number) }
    let time = now + idle + 1
    var (removed, after, pieces) = (0, UUID?.none, 0)
    repeat {
      let result = try await fixture.users.removeIdle(since: time - idle, after: after, limit: 2, now: time)
      (removed, after, pieces) = (removed + result.removed, result.next, pieces + 1)
    } while after != nil && pieces < 9
    #expect(removed == 5 && pieces == 3)
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
