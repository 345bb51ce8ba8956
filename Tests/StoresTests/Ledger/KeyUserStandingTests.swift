import Accounts
import Admission
import Encodings
import SQL
import Stores
import Testing

/// Users who are deleted, banned or signed out between the look at their access token and the admission, and what their
/// keys may do afterwards.
@Suite("Keys of users who are gone or banned") struct KeyUserStandingTests {
  private let now = AccountFixture.now

  /// Requests of the key 0, with the access token of a user or without one.
  private struct Keys {
    let fixture: AccountFixture

    init(_ backend: Backend) async throws {
      fixture = try await AccountFixture(backend)
      try await fixture.base.registerMany(2)
    }

    static func request(_ number: Int, _ user: UUID?, key: Int = 0) -> AdmissionRequest {
      var request = Requests.assertion(
        key, counter: UInt32(number), id: key * 1_000 + number,
        charges: [Charge(subject: .user, rule: "q", amount: 1, limit: Requests.daily(1_000).limit)],
        now: AccountFixture.now)
      request.user = user.map { KeyUser(id: $0.description, changes: [Requests.daily(1_000)]) }
      return request
    }

    /// Who it was admitted for, or why it was refused.
    func ask(_ number: Int, _ user: UUID?, key: Int = 0) async throws -> String {
      switch try await fixture.base.ledger.admit(Self.request(number, user, key: key)) {
      case .admitted(let admitted): admitted.userID ?? "nobody"
      case .refused(let refusal): "\(refusal)"
      }
    }

    func buy(
      _ number: Int, _ user: UUID?, session: UUID?, key: Int? = nil
    ) async throws -> AdmissionRefusal? {
      let token = SessionToken(
        hash: AccountFixture.hash(number), routes: ["/ai/x"], expiry: AccountFixture.now / 1_000 + 600,
        session: session?.octets)
      return try await fixture.base.ledger.issueSession(
        Self.request(number, user, key: key ?? number % 2), token: token, atMost: 9
      ).refusal
    }

    func use(_ number: Int) async throws -> AdmissionRefusal? {
      let evidence = AdmissionRequest.Evidence.session(
        tokenHash: AccountFixture.hash(number), route: "/ai/x")
      return try await fixture.base.ledger.admit(
        Requests.make(evidence, id: 5_000 + number, now: AccountFixture.now, lease: nil)
      ).refusal
    }

    /// The keys' users.
    func users() async throws -> [String] {
      try await fixture.database.read {
        try await $0.rows("select user_id from device_states order by device") {
          $0.optionalString(0) ?? "nobody"
        }
      }
    }
  }

  @Test(
    "RULES §1.8, §4.1: a user who was deleted meanwhile comes to no key, and nothing is written of them",
    arguments: Backend.allCases)
  func deleted(backend: Backend) async throws {
    let keys = try await Keys(backend)
    let user = try await keys.fixture.signUp(1).user.id
    let other = try await keys.fixture.signUp(2).user.id
    #expect(try await keys.ask(1, user) == user.description)
    #expect(try await keys.fixture.delete(user))
    // Twice: what the first is refused for is not remembered as being the key's.
    for number in 2...3 { #expect(try await keys.ask(number, user) == "userGone") }
    #expect(try await keys.users() == ["nobody", "nobody"])
    #expect(try await keys.fixture.count("subjects where name = '\(user)'") == 0)
    // RULES §1.5: the counter is used up all the same.
    #expect(try await keys.ask(3, other) == "counterReplayed")
    #expect(try await keys.ask(4, other) == other.description)
    #expect(try await keys.ask(5, nil) == other.description)
    #expect(try await keys.ask(6, user) == "userGone")
    #expect(try await keys.ask(7, nil) == other.description)
  }

  @Test(
    "RULES §4.1: nor does one who is being deleted, or was banned meanwhile", arguments: Backend.allCases)
  func leaving(backend: Backend) async throws {
    let keys = try await Keys(backend)
    let fixture = keys.fixture
    let user = try await fixture.signUp(1).user.id
    let begun = try await SQLDeletionStore(fixture.database).begin(DeletionFixture.request(user)).get()
    #expect(try await keys.ask(1, user) == "userLeaving")
    _ = try await SQLDeletionStore(fixture.database).keep(begun.deletion.id, failure: "x", now: now)
    _ = try await fixture.users.update(user, UserChange(bannedUntil: now + 1), now: now)
    #expect(try await keys.ask(2, user) == "userBanned")
    #expect(try await keys.users() == ["nobody", "nobody"])
    #expect(try await fixture.count("subjects where name = '\(user)'") == 0)
    _ = try await fixture.users.update(user, UserChange(bannedUntil: now), now: now)
    #expect(try await keys.ask(3, user) == user.description)
  }

  @Test(
    "RULES §1.9: a ban of a key's current user refuses the key without another's access token, and is lifted",
    arguments: Backend.allCases)
  func banned(backend: Backend) async throws {
    let keys = try await Keys(backend)
    let fixture = keys.fixture
    let user = try await fixture.signUp(1).user.id
    let other = try await fixture.signUp(2).user.id
    #expect(try await keys.ask(1, user) == user.description)
    #expect(try await keys.buy(2, nil, session: nil) == nil)
    _ = try await fixture.users.update(user, UserChange(bannedUntil: now + 1_000), now: now)
    // RULES §1.8: its tokens ended, and it buys no new one.
    #expect(try await keys.use(2) == .invalidToken)
    #expect(try await keys.buy(4, nil, session: nil) == .userBanned)
    #expect(try await keys.use(4) == .invalidToken)
    #expect(try await keys.ask(5, nil) == "userBanned")
    #expect(try await keys.ask(6, user) == "userBanned")
    // Whoever signs in to an account of their own is judged by that one.
    var request = Keys.request(7, nil)
    request.isAboutSession = true
    #expect(try await fixture.base.ledger.admit(request).isAdmitted)
    _ = try await fixture.users.update(user, UserChange(bannedUntil: .some(nil)), now: now)
    #expect(try await keys.ask(8, nil) == user.description)
    _ = try await fixture.users.update(user, UserChange(bannedUntil: .max), now: now)
    #expect(try await keys.ask(9, nil) == "userBanned")
    // The key is another user's from here on, and the ban is not the key's.
    #expect(try await keys.ask(10, other) == other.description)
    #expect(try await keys.ask(11, nil) == other.description)
    #expect(try await keys.ask(12, user) == "userBanned")
    #expect(try await keys.ask(13, nil) == other.description)
  }

  @Test(
    "RULES §1.8: a session token ends with the session whose access token bought it, however that ends",
    arguments: Backend.allCases)
  func signedOut(backend: Backend) async throws {
    let keys = try await Keys(backend)
    let fixture = keys.fixture
    let first = try await fixture.signIn(1, token: 1, 1).get()
    let second = try await fixture.signIn(1, token: 2, 2).get()
    let third = try await fixture.signIn(1, token: 3, 3).get()
    for (number, open) in [(1, first), (2, second), (3, third)] {
      #expect(try await keys.buy(number, open.user.id, session: open.session.id) == nil)
      #expect(try await keys.use(number) == nil)
    }
    #expect(try await keys.buy(4, nil, session: nil) == nil)
    #expect(try await fixture.accounts.signOut(first.session.id, .local, now: now))
    #expect(try await keys.use(1) == .invalidToken)
    #expect(try await keys.use(2) == nil)
    // RULES §3.5: so does reuse, which ends the session.
    _ = try await fixture.refresh(second.session.id, 0)
    _ = try await fixture.refresh(second.session.id, 1)
    #expect(try await fixture.refresh(second.session.id, 0).session == nil)
    #expect(try await keys.use(2) == .invalidToken)
    // With the token of a session that ended meanwhile none is bought, and nothing changes but the counter.
    #expect(try await keys.buy(5, first.user.id, session: first.session.id) == .sessionOver)
    #expect(try await keys.buy(5, first.user.id, session: third.session.id) == .counterReplayed)
    #expect(try await keys.use(5) == .invalidToken)
    #expect(try await keys.use(3) == nil)
    #expect(try await fixture.accounts.signOut(third.session.id, .global, now: now))
    #expect(try await keys.use(3) == .invalidToken)
    // What was bought without one knows of no session.
    #expect(try await keys.use(4) == nil)
    #expect(try await fixture.count("session_tokens") == 1)
  }

  @Test(
    "RULES §1.8: deleted, banned and admitted at once: no key is left with one who is gone, nor open for one banned",
    arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let keys = try await Keys(backend)
    let fixture = keys.fixture
    let signedIn = try await (1...6).asyncMap { try await fixture.signUp($0) }
    let users = signedIn.map(\.user.id)
    let time = now
    try await withThrowingTaskGroup { group in
      for (place, open) in signedIn.enumerated() {
        let user = open.user.id
        for round in 1...6 {
          group.addTask {
            _ = try await keys.ask(place * 10 + round, round.isMultiple(of: 3) ? nil : user, key: round % 2)
          }
          group.addTask {
            let isNobody = round.isMultiple(of: 3)
            _ = try await keys.buy(
              100 + place * 10 + round, isNobody ? nil : user, session: isNobody ? nil : open.session.id,
              key: round % 2)
          }
        }
        group.addTask {
          if place.isMultiple(of: 2) {
            #expect(try await fixture.delete(user))
          } else {
            _ = try await fixture.users.update(user, UserChange(bannedUntil: .max), now: time)
          }
        }
      }
      try await group.waitForAll()
    }
    // Nobody is left whom a key may be of.
    let left = try await fixture.database.read {
      try await $0.rows("select user_id, user_banned_until from device_states where user_id is not null") {
        (user: $0.string(0), until: $0.optionalInt64(1))
      }
    }
    let banned = Set(users.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element.description))
    #expect(left.allSatisfy { banned.contains($0.user) && $0.until == .max })
    #expect(
      try await fixture.count("session_tokens where user_id is not null") == 0)
    for key in 0..<2 {
      let answer = try await keys.ask(300, nil, key: key)
      #expect(answer == "userBanned" || answer == "nobody")
    }
  }
}

extension Sequence where Self: Sendable, Element: Sendable {
  fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await body(element)) }
    return values
  }
}
