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

  @Test("each step of an account is told once, in the transaction of the change", arguments: Backend.allCases)
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
        leaving: .discard, now: now)
    ).get()
    try await fixture.tokens.add(
      AppleChallenge(
        hash: AccountFixture.hash(1), purpose: .reauthenticate, session: linked.session.id,
        expiresAt: now + 1), now: now)
    var again = AccountFixture.assertion(2, token: 4)
    again.challengeHash = AccountFixture.hash(1)
    _ = try await fixture.accounts.reauthenticate(
      AccountFixture.signIn(again, 7), bearer: linked.session.id
    ).get()
    #expect(try await fixture.users.delete(AccountFixture.id(2), now: now))
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
    #expect(try await fixture.users.delete(AccountFixture.id(1), now: AccountFixture.now))
    #expect(try await fixture.contacts() == ["2@example.com"])
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
    #expect(try await fixture.users.delete(AccountFixture.id(1), now: AccountFixture.now))
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
      try $0.rows("select type, user_id from outgoing_events order by id") {
        "\($0.string(0)) \(UUID($0.string(1)).flatMap { id in (0..<10).first { Self.id($0) == id } } ?? -1)"
      }
    }
  }

  func contacts() async throws -> [String?] {
    try await database.read {
      try $0.rows("select contact from outgoing_events where contact is not null order by id") {
        try JSONReader.read($0.bytes(0))["email"]?.string
      }
    }
  }
}
