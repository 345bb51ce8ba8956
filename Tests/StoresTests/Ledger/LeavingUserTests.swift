import Accounts
import Admission
import Encodings
import Gateway
import SQL
import Stores
import Testing

/// What keys and counters know of users who leave, and of those who come under another name.
@Suite("Counters of users who leave or move") struct LeavingUserTests {
  private let now = AccountFixture.now

  @Test(
    "RULES §4.2, §4.3: a key forgets who left, the counters forget the id, and the person's allowance stays",
    arguments: Backend.allCases)
  func left(backend: Backend) async throws {
    let counting = try await CountingKeys(backend)
    let fixture = counting.fixture
    let user = try await fixture.signIn(1, token: 1, 1).get().user
    let other = try await fixture.signIn(2, token: 2, 2).get().user
    let person = try #require(counting.names.name(of: user))
    let id = user.id.description
    #expect(try await counting.ask(0, 1, user) == id)
    #expect(try await counting.ask(1, 1, user) == id)
    #expect(try await counting.ask(2, 1, other) == other.id.description)
    #expect(try await fixture.delete(user.id, now: now))
    let stranger = "\(other.id.description) \(try #require(counting.names.name(of: other)))"
    #expect(try await counting.keys() == ["nobody \(person)", "nobody \(person)", stranger])
    for table in ["subjects where name", "session_tokens where user_id", "queued_calls where user_id"] {
      #expect(try await fixture.count("\(table) = '\(id)'") == 0, "\(table)")
    }
    // A call without an access token is nobody's, and counts for the person all the same.
    #expect(try await counting.ask(0, 2, nil) == "nobody")
    #expect(try await counting.ask(1, 2, nil) == nil)
    #expect(try await counting.counted().contains("6 \(person) 9"))
    // What ran when the user left settles where it was reserved.
    #expect(try await counting.settle(1))
    // RULES §1.9: whoever comes after them is a change.
    let back = try await fixture.signIn(1, token: 3, 3).get().user
    #expect(counting.names.name(of: back) == person)
    #expect(try await counting.ask(0, 3, back) == nil)
    #expect(try await fixture.base.sums("daily").used == 3)
  }

  @Test(
    "RULES §4.3: an identity that Apple's word takes off takes with it what its user used, and refills nobody",
    arguments: Backend.allCases, ["consent-revoked", "account-deleted"])
  func unlinkedByApple(backend: Backend, type: String) async throws {
    let counting = try await CountingKeys(backend)
    let fixture = counting.fixture
    let two = SignInPolicy(identitiesPerTeam: 2)
    let first = try await fixture.signIn(1, token: 1, 1).get()
    _ = try await fixture.accounts.session(first.session.id, now: now)
    let open = try await fixture.link(2, token: 2, 2, bearer: first.session.id, policy: two).get()
    // Two calls, of which one still runs.
    #expect(try await counting.ask(0, 1, open.user) != nil)
    #expect(try await counting.settle(1))
    #expect(try await counting.ask(0, 2, open.user) != nil)
    // The one that nothing was counted for by its own name: the name of several is the oldest's.
    let event = AppleEvent(
      id: "e", type: type, teamID: "TEAM000001", subject: "000002.sub", time: now + 5)
    _ = try await fixture.events.record([event], now: now + 6)
    let policy = AppleEventPolicy(onConsentRevoked: .unlink, onAccountDeleted: .delete)
    let result = try await fixture.events.apply("e", consentHolds: false, policy: policy, now: now + 7)
    #expect(result?.outcome == .unlinked)
    let left = try #require(try await fixture.users.user(open.user.id))
    #expect(left.identities.map(\.subject) == ["000001.sub"])
    #expect(try await counting.counted().filter { $0.hasPrefix("6 ") }.map { $0.suffix(2) } == [" 6", " 6"])
    // Who stays has what was left, and whoever comes with the identity alone has no more of it.
    let back = try await fixture.signIn(2, token: 9, 9, now: now + 60_000).get().user
    #expect(back.id != left.id)
    #expect(try await counting.ask(1, 3, back) != nil)
    #expect(try await counting.ask(1, 4, back) == nil)
    #expect(try await counting.ask(0, 5, left) != nil)
    #expect(try await counting.ask(0, 6, left) == nil)
  }

  @Test(
    "RULES §1.9: leaving gives a key no further users", arguments: Backend.allCases)
  func places(backend: Backend) async throws {
    let counting = try await CountingKeys(backend)
    for number in 1...3 {
      let user = try await counting.fixture.signUp(number).user
      #expect(try await counting.ask(0, number, user) == user.id.description)
      #expect(try await counting.fixture.delete(user.id, now: now))
    }
    let fourth = try await counting.fixture.signUp(4).user
    #expect(try await counting.ask(0, 4, fourth) == nil)
  }

  @Test(
    "RULES §4.3: what was used counts under the name of the new team, by import and by signing in first",
    arguments: Backend.allCases, [true, false])
  func transferred(backend: Backend, isFirst: Bool) async throws {
    let counting = try await CountingKeys(backend)
    let fixture = counting.fixture
    let open = try await fixture.signIn(1, token: 1, 1).get()
    #expect(try await counting.ask(0, 1, open.user) != nil)
    #expect(try await counting.ask(0, 2, open.user) != nil)
    let former = try #require(counting.names.name(of: open.user))
    try await move(fixture, 1, isFirst: isFirst)
    let moved = try #require(try await fixture.users.user(open.user.id))
    let person = try #require(counting.names.name(of: moved))
    #expect(person != former)
    #expect(try await counting.keys().first == "\(open.user.id) \(person)")
    #expect(try await counting.counted() == ["1 \(open.user.id) 6", "6 \(person) 6"])
    // Deleting and coming back refills nothing, under either name.
    #expect(try await fixture.delete(moved.id, now: now))
    var assertion = AccountFixture.assertion(1, token: 9, email: nil)
    (assertion.teamID, assertion.subject) = ("NEWTEAM789", "new.sub")
    let back = try await fixture.accounts.signIn(AccountFixture.signIn(assertion, 9)).get().user
    #expect(counting.names.name(of: back) == person)
    #expect(try await counting.ask(1, 3, back) != nil)
    #expect(try await counting.ask(1, 4, back) == nil)
  }

  @Test(
    "RULES §4.3: whoever was here under the new name before counts with both, once",
    arguments: Backend.allCases)
  func merged(backend: Backend) async throws {
    let counting = try await CountingKeys(backend)
    let fixture = counting.fixture
    let open = try await fixture.signIn(1, token: 1, 1).get()
    #expect(try await counting.ask(0, 1, open.user) != nil)
    var assertion = AccountFixture.assertion(1, token: 2, email: nil)
    (assertion.teamID, assertion.subject) = ("NEWTEAM789", "new.sub")
    let second = try await fixture.accounts.signIn(AccountFixture.signIn(assertion, 5)).get().user
    #expect(try await counting.ask(1, 1, second, limit: 20) != nil)
    #expect(try await fixture.delete(second.id, now: now))
    try await move(fixture, 1, isFirst: false)
    let moved = try #require(try await fixture.users.user(open.user.id))
    let person = try #require(counting.names.name(of: moved))
    #expect(try await counting.counted().filter { $0.hasPrefix("6 ") } == ["6 \(person) 6"])
  }

  @Test(
    "RULES §5.5: calls of a key while its user leaves or moves end, and nothing waits in a circle",
    arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let counting = try await CountingKeys(backend)
    let fixture = counting.fixture
    var users: [User] = []
    for number in 1...6 { users.append(try await fixture.signIn(number, token: number, number).get().user) }
    let (all, time) = (users, now)
    try await withThrowingTaskGroup { group in
      for (place, user) in all.enumerated() {
        for round in 0..<6 {
          group.addTask {
            let number = place * 10 + round + 1
            _ = try await counting.ask(place % 3, number, user, limit: 1_000)
          }
        }
        group.addTask {
          if place.isMultiple(of: 2) {
            _ = try await fixture.delete(user.id, now: time)
          } else {
            try await self.move(fixture, place + 1, isFirst: false)
          }
        }
      }
      try await group.waitForAll()
    }
    for user in users.enumerated() where user.offset.isMultiple(of: 2) {
      // Whoever asked with a token after that would be refused before it came here.
      #expect(try await fixture.users.user(user.element.id) == nil)
    }
  }

  /// Moves the identity of that number to another team.
  private func move(_ fixture: AccountFixture, _ number: Int, isFirst: Bool) async throws {
    let store = SQLTransferStore(fixture.database)
    let transfer = try await store.transfer(from: "TEAM000001", to: "NEWTEAM789", acceptedAt: nil, now: now)
    let identity = AccountFixture.id(10_000 + number)
    let subject = number == 1 ? "new.sub" : "new\(number).sub"
    #expect(try await store.exported(identity, as: "t\(number)", transfer, now: now))
    guard isFirst else {
      let rekeying = Rekeying(identity: identity, subject: subject, email: nil, isPrivateEmail: nil)
      #expect(try await store.rekey(rekeying, transfer, by: .command, now: now) == .transferred)
      return
    }
    var assertion = AccountFixture.assertion(number, token: 500 + number)
    (assertion.teamID, assertion.subject, assertion.transferSubject) = ("NEWTEAM789", subject, "t\(number)")
    _ = try await fixture.accounts.signIn(AccountFixture.signIn(assertion, 500 + number)).get()
  }
}
