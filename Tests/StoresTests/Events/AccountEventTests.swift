import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Events of accounts") struct AccountEventTests {
  static let url = "https://app.example/hooks"

  @Test("nothing is written where no endpoint takes events", arguments: Backend.allCases)
  func none(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    #expect(try await fixture.count("outgoing_events") == 0)
  }

  @Test(
    "RULES §3.7: each step of an account is told once, in its transaction; a switch when its ticket is used",
    arguments: Backend.allCases)
  func steps(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, OutgoingEvent.Kind.allCases)
    let now = AccountFixture.now
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let guest = try await fixture.signUp(2)
    let linked = try await fixture.link(2, token: 2, 3, bearer: guest.session.id).get()
    // The same token again is the same answer, and nothing new happened.
    _ = try await fixture.link(2, token: 2, 3, bearer: guest.session.id).get()
    let other = try await fixture.signUp(4)
    #expect(
      try await fixture.link(1, token: 3, 5, bearer: other.session.id).refusal == .linkedToAnotherUser)
    _ = try await fixture.accounts.switch(
      AccountSwitch(
        ticketHash: AccountFixture.hash(3_005), bearer: other.session.id, session: AccountFixture.id(20_006),
        now: now)
    ).get()
    for _ in 0..<2 {
      let said = LeavingWord(session: AccountFixture.id(20_006), word: .discard, now: now)
      _ = try await fixture.accounts.leave(said).get()
    }
    try await fixture.tokens.add(
      AppleChallenge(
        hash: AccountFixture.hash(1), purpose: .reauthenticate, session: linked.session.id,
        expiresAt: now + 1), now: now)
    var again = AccountFixture.assertion(2, token: 4)
    again.challengeHash = AccountFixture.hash(1)
    _ = try await fixture.accounts.reauthenticate(
      AccountFixture.signIn(again, 7), bearer: linked.session.id
    ).get()
    #expect(try await fixture.delete(AccountFixture.id(2), now: now))
    #expect(
      try await fixture.told() == [
        "user.created 1", "user.created 2", "user.linked 2", "user.created 4", "user.switched 1",
        "user.deleted 4", "user.reauthenticated 2", "user.deleted 2",
      ])
  }

  @Test(
    "RULES §4.2: a deleted user's address is erased from what waits to be told", arguments: Backend.allCases)
  func erased(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, OutgoingEvent.Kind.allCases)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    _ = try await fixture.signIn(2, token: 2, 2).get()
    #expect(try await fixture.contacts() == ["1@example.com", "2@example.com"])
    #expect(try await fixture.delete(AccountFixture.id(1), now: AccountFixture.now))
    #expect(try await fixture.contacts() == ["2@example.com"])
  }

  @Test(
    "RULES §3.5: a refresh token that comes back is told of, whether its session ends or not",
    arguments: Backend.allCases)
  func reuse(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, [.refreshTokenReused])
    let guest = try await fixture.signUp(1)
    let known = try await fixture.signIn(2, token: 2, 2).get()
    for session in [guest.session.id, known.session.id] {
      for counter: Int64 in 0..<3 { _ = try await fixture.refresh(session, counter) }
      #expect(try await fixture.refresh(session, 0).refusal != nil)
    }
    #expect(try await fixture.told() == ["session.refresh_token_reused 1", "session.refresh_token_reused 2"])
    #expect(try await fixture.data("session_ended") == ["false", "true"])
  }

  @Test("what Apple says is told once it is applied, and no mail may follow", arguments: Backend.allCases)
  func apple(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, OutgoingEvent.Kind.allCases.filter { $0 != .userCreated })
    let now = AccountFixture.now
    let relay = AccountFixture.assertion(1, token: 1, email: "x@privaterelay.appleid.com")
    _ = try await fixture.accounts.signIn(AccountFixture.signIn(relay, 1)).get()
    for (number, type) in ["email-disabled", "email-disabled", "consent-revoked"].enumerated() {
      // The second one is older than the first, and tells nothing new.
      let event = AppleEvent(
        id: "j\(number)", type: type, teamID: relay.teamID, subject: relay.subject,
        time: now + (number == 1 ? 0 : 10))
      #expect(try await fixture.events.record([event], now: now))
      #expect(try await fixture.told().count == min(number, 1))
      _ = try await fixture.events.apply(
        event.id, consentHolds: false, policy: AppleEventPolicy(), now: now + 20)
    }
    #expect(
      try await fixture.told() == ["user.email_forwarding_changed 1", "user.consent_revoked 1"])
    #expect(try await fixture.data("forwards_email") == ["false"])
    #expect(try await fixture.mayContact() == [false, false])
  }

  @Test("an identity that is let go is told of", arguments: Backend.allCases)
  func unlinked(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, [.userUnlinked])
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let policy = SignInPolicy(identitiesPerTeam: 2)
    _ = try await fixture.link(2, token: 2, 2, bearer: open.session.id, policy: policy).get()
    let identity = try #require(try await fixture.users.user(open.user.id)?.identities.first)
    #expect(
      try await fixture.users.unlink(identity.id, of: open.user.id, by: .user, now: AccountFixture.now)
        == .unlinked)
    #expect(try await fixture.told() == ["user.unlinked 1"])
    #expect(try await fixture.data("identity_id") == [identity.id.description])
  }

  @Test("a refused step tells nothing", arguments: Backend.allCases)
  func refused(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, OutgoingEvent.Kind.allCases)
    #expect(
      try await fixture.signIn(1, token: 1, 1, policy: SignInPolicy(allowsSignUp: false)).refusal
        == .signUpDisabled)
    #expect(try await fixture.count("outgoing_events") == 0)
  }

  @Test("an endpoint is told of the kinds that it takes alone", arguments: Backend.allCases)
  func kinds(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    try await fixture.subscribe(Self.url, [.userDeleted])
    _ = try await fixture.signUp(1)
    #expect(try await fixture.delete(AccountFixture.id(1), now: AccountFixture.now))
    #expect(try await fixture.told() == ["user.deleted 1"])
  }
}

extension AccountFixture {
  func subscribe(_ url: String, _ kinds: [OutgoingEvent.Kind]) async throws {
    try await outbox.subscribe([EventSubscription(url: url, kinds: Set(kinds))])
  }

  /// The events in their order, each with the number of its user.
  func told() async throws -> [String] {
    try await database.read {
      try await $0.rows("select type, user_id from outgoing_events order by id") {
        "\($0.string(0)) \(UUID($0.string(1)).flatMap { id in (0..<10).first { Self.id($0) == id } } ?? -1)"
      }
    }
  }

  /// That member of each event's data, where it has it.
  func data(_ name: String) async throws -> [String] {
    try await database.read {
      try await $0.rows("select data from outgoing_events order by id") {
        try JSONReader.read($0.bytes(0))[name].map { $0.string ?? $0.value.text }
      }.compactMap(\.self)
    }
  }

  func mayContact() async throws -> [Bool?] {
    try await database.read {
      try await $0.rows("select contact from outgoing_events where contact is not null order by id") {
        try JSONReader.read($0.bytes(0))["may_contact"]?.bool
      }
    }
  }

  func contacts() async throws -> [String?] {
    try await database.read {
      try await $0.rows("select contact from outgoing_events where contact is not null order by id") {
        try JSONReader.read($0.bytes(0))["email"]?.string
      }
    }
  }
}
