import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Apple's events") struct AppleEventContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now
  /// `iat` of the tokens that ``AccountFixture`` makes at `now`.
  private let consent = AccountFixture.now - 2_000
  private static let minute: Int64 = 60_000

  private func event(_ id: String, _ type: String, _ time: Int64, subject: Int = 1) -> AppleEvent {
    AppleEvent(id: id, type: type, teamID: "TEAM000001", subject: "00000\(subject).sub", time: time)
  }

  /// Keeps and applies one event.
  private func tell(
    _ fixture: AccountFixture, _ event: AppleEvent, holds: Bool = false,
    policy: AppleEventPolicy = AppleEventPolicy(), now: Int64
  ) async throws -> AppleEventOutcome? {
    #expect(try await fixture.events.record([event], now: now))
    return try await fixture.events.apply(event.id, consentHolds: holds, policy: policy, now: now)?.outcome
  }

  private func token(_ subject: Int) -> SealedAppleToken {
    SealedAppleToken(
      teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: "com.example.app", sealingKey: "k",
      sealed: [1], nextCheck: now)
  }

  @Test(
    "consent-revoked ends the sessions and tokens of its subject alone; the user stays, and comes back as the same",
    arguments: Backend.allCases)
  func revoked(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let other = try await fixture.signIn(2, token: 2, 2).get()
    try await fixture.tokens.keep(token(1), now: now)
    try await fixture.tokens.keep(token(2), now: now)
    #expect(try await tell(fixture, event("a", "consent-revoked", now), now: now + 5) == .revoked)
    #expect(try await fixture.accounts.session(open.session.id, now: now) == nil)
    #expect(try await fixture.refresh(open.session.id, 0).session == nil)
    #expect(try await fixture.accounts.session(other.session.id, now: now) != nil)
    #expect(try await fixture.count("apple_tokens") == 1)
    let user = try #require(try await fixture.users.user(open.user.id))
    #expect(user.identities.map(\.status) == [.revoked])
    #expect(user.identities[0].updatedAt == now + 5 && user.email == open.user.email)
    #expect(try await fixture.audit().last == "identity_revoked: consent-revoked by Apple")
    let again = try await fixture.signIn(1, token: 3, 3, now: now + Self.minute).get()
    #expect(again.user.id == open.user.id && again.user.identities.map(\.status) == [.live])
    // The same notification once more, by then in the past, does nothing.
    #expect(try await fixture.events.record([event("a", "consent-revoked", now)], now: now) == false)
    #expect(
      try await fixture.events.apply("a", consentHolds: false, policy: AppleEventPolicy(), now: now)?.outcome
        == nil)
    #expect(try await fixture.accounts.session(again.session.id, now: now + Self.minute) != nil)
  }

  @Test(
    "RULES §2.3: a late consent-revoked does nothing to who consented after it, 59 minutes or a millisecond later",
    arguments: Backend.allCases)
  func late(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    for (number, time) in [consent - 59 * Self.minute, consent - 1].enumerated() {
      #expect(try await tell(fixture, event("\(number)", "consent-revoked", time), now: now) == .stale)
    }
    #expect(try await fixture.accounts.session(open.session.id, now: now) != nil)
    #expect(try await fixture.users.user(open.user.id)?.identities.map(\.status) == [.live])
    #expect(try await fixture.audit().count == 1)
    // At the very time of the consent it counts, as it does for a token that comes after it.
    #expect(try await tell(fixture, event("same", "account-delete", consent), now: now) == .revoked)
  }

  @Test(
    "RULES §2.3: an event of an unknown subject is kept, and refuses its older tokens",
    arguments: Backend.allCases)
  func unknown(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    #expect(try await tell(fixture, event("a", "consent-revoked", consent), now: now) == .unknownSubject)
    #expect(try await tell(fixture, event("b", "consent-revoked", consent + 1), now: now) == .unknownSubject)
    #expect(try await fixture.signIn(1, token: 1, 1).refusal == .consentRevoked)
    _ = try await fixture.signIn(1, token: 2, 2, now: now + 5).get()
    #expect(try await fixture.count("apple_events") == 2)
  }

  @Test("unknown types are kept and never wait", arguments: Backend.allCases)
  func types(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let strange = AppleEvent(
      id: "a", type: "age-verified", teamID: "TEAM000001", subject: "", time: Int64.max)
    #expect(try await fixture.events.record([strange, event("a#1", "email-disabled", 1)], now: now))
    #expect(
      try await fixture.events.pending(now: now, retryAt: now, limit: 9).map(\.event.id) == ["a#1"])
    #expect(try await fixture.count("apple_events") == 2)
  }

  @Test("forwarding follows the newest word, in whatever order it comes", arguments: Backend.allCases)
  func forwarding(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    func forwards() async throws -> Bool? {
      try await fixture.users.user(open.user.id)?.identities.first?.forwardsEmail
    }
    #expect(try await forwards() == nil)
    #expect(try await tell(fixture, event("a", "email-disabled", now + 20), now: now) == .forwarding)
    #expect(try await forwards() == false)
    #expect(try await tell(fixture, event("b", "email-enabled", now + 10), now: now) == .stale)
    #expect(try await tell(fixture, event("c", "email-enabled", now + 20), now: now) == .stale)
    #expect(try await forwards() == false)
    // A further sign-in with the same address changes nothing; another address is another matter.
    let same = try await fixture.signIn(1, token: 2, 2, now: now + 5_000).get()
    #expect(same.user.identities.first?.forwardsEmail == false)
    let fresh = Fixture.assertion(1, token: 3, now: now + 9_000, email: "other@privaterelay.appleid.com")
    let moved = try await fixture.accounts.signIn(Fixture.signIn(fresh, 3, now: now + 9_000)).get()
    #expect(moved.user.identities.first?.forwardsEmail == nil)
    #expect(try await tell(fixture, event("d", "email-disabled", now + 6_999), now: now) == .stale)
    #expect(try await forwards() == nil)
    #expect(try await tell(fixture, event("e", "email-enabled", now + 7_001), now: now) == .forwarding)
    #expect(try await forwards() == true)
    #expect(try await fixture.accounts.session(open.session.id, now: now) != nil)
  }

  @Test(
    "RULES §2.4: what Apple tells of our own revocation within ten minutes is kept and not applied",
    arguments: Backend.allCases)
  func own(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.events.revoking(teamID: "TEAM000001", subject: "000001.sub", now: now)
    // Signed up again within a second of it: neither refused nor signed out by the echo.
    let again = try await fixture.signIn(1, token: 2, 2, now: now + 1_000).get()
    let echoes = [now + 5_000, now + 600_000]
    for (number, time) in echoes.enumerated() {
      #expect(try await tell(fixture, event("\(number)", "consent-revoked", time), now: now) == nil)
    }
    #expect(try await fixture.accounts.session(again.session.id, now: now) != nil)
    #expect(try await fixture.signIn(1, token: 3, 3, now: now + 4_000).refusal == nil)
    let outcomes = try await fixture.database.read {
      try await $0.rows("select outcome from apple_events") { $0.optionalString(0) }
    }
    #expect(outcomes == ["own_revocation", "own_revocation"])
    // Another's, another type, and a later one are applied.
    #expect(
      try await tell(fixture, event("x", "consent-revoked", now, subject: 2), now: now) == .unknownSubject)
    #expect(try await tell(fixture, event("y", "email-disabled", now + 5_000), now: now) == .forwarding)
    #expect(try await tell(fixture, event("z", "consent-revoked", now + 600_001), now: now) == .revoked)
    #expect(try await fixture.accounts.session(again.session.id, now: now) == nil)
  }

  @Test(
    "RULES §2.4: a deletion that a valid token contradicts, or that the operator wants to see, changes nothing",
    arguments: Backend.allCases)
  func deleted(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.tokens.keep(token(1), now: now)
    let kept = try await fixture.tokens.tokens(of: open.user.id)
    #expect(try await fixture.events.record([event("a", "account-deleted", now)], now: now))
    #expect(try await fixture.events.record([event("old", "account-delete", consent - 1)], now: now))
    #expect(try await fixture.events.record([event("b", "consent-revoked", consent - 5)], now: now))
    let pending = try await fixture.events.pending(now: now, retryAt: now + 9, limit: 9)
    #expect(pending.map(\.event.id) == ["b", "old", "a"])
    #expect(pending.map(\.tokens) == [[], [], kept])
    let record = AppleEventPolicy(onAccountDeleted: .record)
    #expect(
      try await tell(fixture, event("c", "account-deleted", now), policy: record, now: now) == .recorded)
    #expect(
      try await fixture.events.apply("a", consentHolds: true, policy: AppleEventPolicy(), now: now)?.outcome
        == .contradicted)
    #expect(try await fixture.accounts.session(open.session.id, now: now) != nil)
    #expect(try await fixture.count("apple_tokens") == 1)
    #expect(
      try await fixture.audit().suffix(2) == [
        "apple_account_deleted: recorded", "apple_account_deleted: contradicted",
      ])
    #expect(try await tell(fixture, event("d", "account-delete", now), now: now) == .revoked)
    #expect(try await fixture.accounts.session(open.session.id, now: now) == nil)
    #expect(try await fixture.users.user(open.user.id) != nil)
  }

  @Test("the same notification 50 times at once is kept once and applied once", arguments: Backend.allCases)
  func duplicates(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let event = event("a", "consent-revoked", now)
    let found = try await withThrowingTaskGroup(of: (Bool, AppleEventOutcome?).self) { group in
      for _ in 0..<50 {
        group.addTask {
          let isNew = try await fixture.events.record([event], now: self.now)
          let outcome = try await fixture.events.apply(
            "a", consentHolds: false, policy: AppleEventPolicy(), now: self.now)?.outcome
          return (isNew, outcome)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(found.count { $0.0 } == 1)
    #expect(found.compactMap(\.1) == [.revoked])
    #expect(try await fixture.audit().count { $0.hasPrefix("identity_revoked") } == 1)
  }

  @Test("events and sign-ins at once end as if one came after the other", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    try await withThrowingTaskGroup { group in
      for number in 1...16 {
        group.addTask {
          // Tokens of two seconds before, and of two seconds after the revocation.
          let at = self.now + (number % 2 == 0 ? 0 : 4_000)
          let result = try await fixture.signIn(number % 4, token: number, number, now: at)
          if case .failure(let refusal) = result { #expect(refusal == .consentRevoked) }
        }
      }
      for subject in 0..<4 {
        group.addTask {
          _ = try await self.tell(
            fixture, self.event("\(subject)", "consent-revoked", self.now, subject: subject), now: self.now)
        }
      }
      try await group.waitForAll()
    }
    let users = try await fixture.users.users(offset: 0, limit: 99).users
    for identity in users.flatMap(\.identities) {
      #expect((identity.status == .live) == (identity.consentAt > now))
    }
  }

  @Test(
    "what a crash left between keeping and applying waits, comes once, and comes again when nothing came of it",
    arguments: Backend.allCases)
  func resumed(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let events = [event("b", "consent-revoked", now + 2), event("a", "email-enabled", now + 1)]
    #expect(try await fixture.events.record(events, now: now))
    #expect(try await fixture.events.pending(now: now - 1, retryAt: now, limit: 9).isEmpty)
    let store = SQLAppleEventStore(fixture.database)
    #expect(try await store.pending(now: now, retryAt: now + 50, limit: 1).map(\.event) == [events[1]])
    #expect(try await store.pending(now: now, retryAt: now + 50, limit: 9).map(\.event) == [events[0]])
    #expect(try await store.pending(now: now + 49, retryAt: now + 50, limit: 9).isEmpty)
    #expect(try await store.pending(now: now + 50, retryAt: now + 99, limit: 9).count == 2)
    _ = try await store.apply("a", consentHolds: false, policy: AppleEventPolicy(), now: now)
    #expect(try await store.pending(now: now + 110, retryAt: now + 110, limit: 9).isEmpty)
    // Received 50 ago when it was last taken: a quarter of that was added.
    #expect(
      try await store.pending(now: now + 111, retryAt: now + 111, limit: 9).map(\.event.id) == ["b"])
  }

  @Test("old events are forgotten once they were applied", arguments: Backend.allCases)
  func forgotten(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    #expect(try await tell(fixture, event("a", "consent-revoked", 1), now: now) == .unknownSubject)
    #expect(try await fixture.events.record([event("waiting", "consent-revoked", 1)], now: now))
    try await fixture.events.revoking(teamID: "T", subject: "s", now: now)
    try await fixture.events.forget(before: now)
    #expect(try await fixture.count("apple_events") == 2)
    #expect(try await fixture.count("apple_revocations") == 1)
    try await fixture.events.forget(before: now + 1)
    #expect(try await fixture.count("apple_events") == 1)
    #expect(try await fixture.count("apple_revocations") == 0)
  }

  @Test(
    "RULES §2.3: going over to the account by a newer token is a consent as well", arguments: Backend.allCases
  )
  func switched(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let owner = try await fixture.signIn(1, token: 1, 1).get()
    #expect(try await tell(fixture, event("a", "consent-revoked", now), now: now) == .revoked)
    let guest = try await fixture.signUp(2)
    let refused = try await fixture.link(1, token: 2, 3, bearer: guest.session.id, now: now + 10_000).refusal
    #expect(refused == .linkedToAnotherUser)
    let open = try await fixture.accounts.switch(
      AccountSwitch(
        ticketHash: Fixture.hash(3_003), bearer: guest.session.id, session: Fixture.id(20_010),
        keyID: nil, now: now + 20_000)
    ).get()
    #expect(open.user.id == owner.user.id)
    #expect(open.user.identities.map(\.status) == [.live])
    #expect(try await fixture.users.user(owner.user.id)?.identities.map(\.consentAt) == [now + 8_000])
    #expect(try await tell(fixture, event("b", "consent-revoked", now + 7_999), now: now) == .stale)
    #expect(try await fixture.accounts.session(open.session.id, now: now + 20_000) != nil)
  }
}
