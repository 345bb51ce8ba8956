import Accounts
import Encodings
import SQL
import Stores
import Testing

/// A guest who found their identity at another account, and was offered to go over to it.
struct OfferedSwitch: Sendable {
  typealias Fixture = AccountFixture

  let fixture: Fixture
  let owner: OpenSession
  let guest: OpenSession

  /// The ticket is number 3.
  init(_ fixture: Fixture) async throws {
    self.fixture = fixture
    owner = try await fixture.signIn(1, token: 1, 1).get()
    guest = try await fixture.signUp(2)
    let refused = try await fixture.link(1, token: 2, 3, bearer: guest.session.id).refusal
    #expect(refused == .linkedToAnotherUser)
  }

  init(_ backend: Backend) async throws { try await self.init(Fixture(backend)) }

  func go(
    _ number: Int, ticket: Int = 3, bearer: UUID? = nil, now: Int64 = Fixture.now + 100_000,
    by accounts: SQLAccountStore? = nil
  ) async throws -> Result<OpenSession, SignInRefusal> {
    try await (accounts ?? fixture.accounts).switch(
      AccountSwitch(
        ticketHash: Fixture.hash(3_000 + ticket), bearer: bearer ?? guest.session.id,
        session: Fixture.id(20_000 + number), keyID: Fixture.key, now: now))
  }

  /// What the session says of the guest.
  func say(
    _ word: LeftBehind, by session: UUID, owned: [String] = [], now: Int64 = Fixture.now + 100_000,
    through accounts: SQLAccountStore? = nil
  ) async throws -> Result<Deletion?, SignInRefusal> {
    try await (accounts ?? fixture.accounts).leave(
      LeavingWord(session: session, word: word, owned: owned, now: now))
  }

  func guestNow() async throws -> User? { try await fixture.users.user(guest.user.id) }
}
