import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Rounds of deletions") struct DeletionRoundTests {
  private typealias Fixture = DeletionFixture
  private let now = DeletionFixture.now

  @Test(
    "asked 24 times at once under as many names it runs once, and each name finds it",
    arguments: Backend.allCases)
  func atOnce(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(clients: ["a"])
    let found = try await withThrowingTaskGroup(of: DeletionBeginning.self) { group in
      for number in 0..<24 {
        group.addTask {
          try await fixture.store.begin(Fixture.request(open.user.id, number / 2)).get()
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(found.count { if case .begun = $0 { true } else { false } } == 1)
    #expect(Set(found.map(\.deletion.id)).count == 1)
    for number in 0..<12 {
      let named = try await fixture.store.deletion(.operation(Fixture.operation(number)))
      #expect(named == found[0].deletion)
    }
    #expect(try await fixture.accounts.count("deletions") == 1)
    #expect(try await fixture.accounts.count("deletion_tokens") == 1)
    // Nobody makes a table of names out of it.
    for number in 100..<130 { _ = try await fixture.store.begin(Fixture.request(open.user.id, number)) }
    #expect(try await fixture.accounts.count("deletion_names") <= 16)
  }

  @Test("RULES §4.2: an operation id of somebody else's names nothing of theirs", arguments: Backend.allCases)
  func taken(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let (ada, grace) = (try await fixture.person(1), try await fixture.person(2))
    let results = try await withThrowingTaskGroup(of: (UUID, Bool).self) { group in
      for user in [ada.user.id, grace.user.id] {
        group.addTask {
          (user, try await fixture.store.begin(Fixture.request(user)).refusal == .operationTaken)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0.1 } == 1)
    for (user, isRefused) in results {
      #expect((try await fixture.user(user)?.deletingSince == nil) == isRefused)
    }
  }

  @Test(
    "what waits is claimed once, the longest due first, and again when its lease is over",
    arguments: Backend.allCases)
  func claims(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let people = [try await fixture.person(1, clients: ["a"]), try await fixture.person(2)]
    let first = try await fixture.begin(Fixture.request(people[0].user.id, 1))
    let second = try await fixture.begin(Fixture.request(people[1].user.id, 2, now: now - 10))
    let store = SQLDeletionStore(fixture.accounts.database)
    #expect(try await store.claim(lease: now + 200_000, now: now) == nil)
    let at = now + 60_000
    #expect(try await store.claim(lease: at + 50, now: at)?.id == second.id)
    let found = try await withThrowingTaskGroup(of: Deletion?.self) { group in
      for _ in 0..<8 { group.addTask { try await store.claim(lease: at + 60, now: at) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(found.compactMap(\.?.id) == [first.id])
    #expect(try await store.claim(lease: at + 99, now: at + 50)?.id == second.id)
    // A step of whoever has it keeps the others away for longer.
    _ = try await store.record(
      first.id, token: first.tokens[0].id, .revoked, lease: at + 500, now: at + 50)
    #expect(try await store.claim(lease: at + 400, now: at + 99)?.id == second.id)
    #expect(try await store.claim(lease: at + 600, now: at + 399) == nil)
    let late = try await store.claim(lease: at + 600, now: at + 500)
    #expect(late?.id == second.id || late?.id == first.id)
  }

  @Test(
    "a next try written while the clock ran a day ahead is due, and one to come soon is not",
    arguments: Backend.allCases)
  func clockAhead(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1)
    let begun = try await fixture.begin(Fixture.request(open.user.id, 1, now: now + 86_400_000))
    let store = SQLDeletionStore(fixture.accounts.database)
    #expect(try await store.claim(lease: now + 60_000, now: now)?.id == begun.id)
    #expect(try await store.claim(lease: now + 120_000, now: now + 59_999) == nil)
  }

  @Test(
    "RULES §2.4: a queued revocation is dropped when the person has consented again",
    arguments: Backend.allCases)
  func superseded(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1, clients: ["a", "b"])
    let begun = try await fixture.begin(Fixture.request(open.user.id, policy: .eventual))
    let closed = try await fixture.store.finish(begun.id, now: now + 1).get()
    #expect(closed.state == .deleted && closed.waiting.count == 2 && closed.nextTry == now + 1)
    let claimed = try await fixture.store.claim(lease: now + 100, now: now + 1)
    #expect(claimed?.waiting == closed.waiting)
    _ = try await fixture.accounts.signIn(1, token: 50, 50, now: now + 5_000).get()
    #expect(try await fixture.store.claim(lease: .max, now: now + 9_000) == nil)
    let settled = try await fixture.store.deletion(.operation(Fixture.operation(1)))
    #expect(settled?.superseded == 2 && settled?.tokens == [] && settled?.revocation == .revoked)
  }

  @Test(
    "tokens that a sign-in of just before kept too late are revoked as well", arguments: Backend.allCases)
  func late(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1, clients: ["a"])
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    _ = try await fixture.store.record(
      begun.id, token: begun.tokens[0].id, .revoked, lease: Fixture.lease, now: now)
    try await fixture.accounts.tokens.keep(Fixture.token(1, client: "late", sealed: [5]), now: now)
    let closed = try await fixture.store.finish(begun.id, now: now + 1).get()
    #expect(closed.waiting.map(\.token.clientID) == ["late"] && closed.isUnfinished)
  }

  @Test(
    "RULES §2.4: a token that comes when its user is gone waits with the deletion, unless the person is back",
    arguments: Backend.allCases)
  func afterwards(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1)
    let begun = try await fixture.begin(Fixture.request(open.user.id, policy: .eventual))
    let tokens = fixture.accounts.tokens
    let late = { (number: UInt8) in Fixture.token(1, client: "late", sealed: [number]) }
    #expect(try await tokens.keep(late(1), of: open.user.id, now: now) == .kept)
    #expect(try await fixture.store.finish(begun.id, now: now + 1).get().waiting.count == 1)
    #expect(try await tokens.keep(late(2), of: open.user.id, now: now + 2) == .queued)
    #expect(try await tokens.keep(late(3), of: nil, now: now + 2) == .orphaned)
    #expect(try await tokens.keep(late(3), of: AccountFixture.id(77), now: now + 2) == .orphaned)
    let claimed = try await fixture.store.claim(lease: now + 100, now: now + 2)
    #expect(claimed?.id == begun.id && claimed?.waiting.map(\.token.sealed) == [[1], [2]])
    // Back: nothing is revoked, and what comes now is the new account's.
    _ = try await fixture.accounts.signIn(1, token: 50, 50, now: now + 5_000).get()
    #expect(try await tokens.keep(late(4), of: open.user.id, now: now + 5_000) == .kept)
    #expect(try await fixture.store.claim(lease: .max, now: now + 9_000) == nil)
    #expect(try await tokens.tokens(of: AccountFixture.id(50)).map(\.sealed) == [[4]])
  }

  @Test(
    "RULES §2.4: the consent of a link in a browser that nobody ended goes with the account",
    arguments: Backend.allCases)
  func browser(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1)
    let flows = SQLWebFlowStore(fixture.accounts.database)
    for number in 1...4 {
      let flow = WebFlow(
        id: AccountFixture.id(500 + number), stateHash: AccountFixture.hash(500 + number), browserHash: nil,
        nonce: "n", clientID: "web", redirectTo: "https://example.com", codeChallenge: "c", isS256: true,
        linking: number == 3 ? nil : open.session.id, expiresAt: now + 60_000)
      try await flows.begin(flow)
      guard number != 2 else { continue }
      _ = try await flows.answer(flow.stateHash, now: now)
      try await flows.complete(
        // The last one's link was made.
        flow.id, with: AccountFixture.assertion(number == 4 ? 1 : 7, token: 70 + number),
        token: Fixture.token(7, client: "web", sealed: [UInt8(number)]),
        codeHash: AccountFixture.hash(600 + number), expiresAt: now + 60_000)
    }
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    let closed = try await fixture.store.finish(begun.id, now: now).get()
    #expect(closed.waiting.map(\.token.sealed) == [[1]] && closed.isUnfinished)
    #expect(try await fixture.accounts.count("web_flows") == 1)
  }

  @Test("what was given up is listed, tried again, and forgotten at last", arguments: Backend.allCases)
  func deadLetters(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(1, clients: ["a"])
    let begun = try await fixture.begin(Fixture.request(open.user.id, policy: .eventual))
    _ = try await fixture.store.finish(begun.id, now: now).get()
    var at = now
    for _ in 0..<DeletionRule.attemptLimit {
      at = try await fixture.store.postpone(begun.id, failure: "invalid_client", now: at)?.nextTry ?? at
    }
    #expect(try await fixture.store.claim(lease: .max, now: .max) == nil)
    let listed = try await fixture.store.deletions(all: false, limit: 9)
    #expect(listed.map(\.id) == [begun.id] && listed.first?.tokens.map(\.isDead) == [true])
    #expect(try await fixture.store.retry(Fixture.operation(9), now: at) == nil)
    #expect(try await fixture.store.retry(begun.operation, now: at)?.waiting.count == 1)
    let claimed = try await fixture.store.claim(lease: at + 50, now: at)
    let token = try #require(claimed?.waiting.first)
    let done = try await fixture.store.record(
      begun.id, token: token.id, .revoked, lease: at + 50, now: at)
    #expect(done?.isUnfinished == false && done?.revocation == .revoked)
    #expect(try await fixture.store.deletions(all: false, limit: 9).isEmpty)
    #expect(try await fixture.store.deletions(all: true, limit: 9).count == 1)
    #expect(try await fixture.store.forget(before: now, leavingBefore: 0) == 0)
    #expect(try await fixture.store.forget(before: now + 1, leavingBefore: 0) == 1)
    #expect(try await fixture.accounts.count("deletion_tokens") == 0)
  }

  @Test("what is left keeps its tombstone, but not for ever", arguments: Backend.allCases)
  func forgetting(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let (ada, grace) = (try await fixture.person(1, clients: ["a"]), try await fixture.person(2))
    let left = try await fixture.begin(Fixture.request(ada.user.id, 1, policy: .eventual))
    _ = try await fixture.store.finish(left.id, now: now).get()
    let running = try await fixture.begin(Fixture.request(grace.user.id, 2))
    #expect(try await fixture.store.forget(before: .max, leavingBefore: now) == 0)
    #expect(try await fixture.store.forget(before: .max, leavingBefore: .max) == 1)
    #expect(try await fixture.store.deletions(all: true, limit: 9).map(\.id) == [running.id])
  }

  @Test("a sign-in amid the end of a deletion finds no user or makes another", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for round in 1...4 {
      let open = try await fixture.person(round, clients: ["a"])
      let begun = try await fixture.begin(
        Fixture.request(open.user.id, round, policy: .eventual))
      let users = try await withThrowingTaskGroup(of: UUID?.self) { group in
        for number in 0..<8 {
          group.addTask {
            let result = try await fixture.accounts.signIn(
              round, token: 100 * round + number, 100 * round + number)
            if case .failure(let refusal) = result { #expect(refusal == .deleting) }
            return try? result.get().user.id
          }
        }
        group.addTask {
          _ = try await fixture.store.finish(begun.id, now: self.now).get()
          return nil
        }
        return try await group.reduce(into: Set()) { $0.formUnion([$1].compactMap(\.self)) }
      }
      #expect(users.count <= 1 && !users.contains(open.user.id))
      #expect(try await fixture.user(open.user.id) == nil)
    }
  }
}
