import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Signing in") struct SignInContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  @Test("an anonymous user has a session and nothing else", arguments: Backend.allCases)
  func anonymous(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.accounts.signUp(
      AnonymousSignUp(
        user: Fixture.id(1), session: Fixture.id(2), userMetadata: ["a": "Ä\"", "b": nil], keyID: Fixture.key,
        now: now))
    #expect(open.user.isAnonymous)
    #expect(open.user.appMetadata == [:])
    #expect(open.user.userMetadata == ["a": "Ä\""])
    #expect(open.session.methods.map(\.method) == ["anonymous"])
    #expect(open.session.authTime == now / 1_000)
    #expect(try await fixture.users.user(Fixture.id(1)) == open.user)
    var seen = open
    seen.session.acknowledgedAt = now + 5
    #expect(try await fixture.accounts.session(Fixture.id(2), now: now + 5) == seen)
    #expect(try await fixture.accounts.session(Fixture.id(2), now: now + 9) == seen)
    #expect(try await fixture.accounts.session(Fixture.id(3), now: now) == nil)
    #expect(try await fixture.audit() == ["user_signedup: anonymous"])
  }

  @Test("the first sign-in makes the user, the next finds it", arguments: Backend.allCases)
  func insertOrReuse(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    var assertion = Fixture.assertion(1, token: 1)
    assertion.fullName = PersonName(given: "Ada", family: "Lovelace")
    let first = try await fixture.accounts.signIn(Fixture.signIn(assertion, 1, keyID: Fixture.key)).get()
    #expect(first.user.id == Fixture.id(1))
    #expect(!first.user.isAnonymous)
    #expect(first.user.email == "1@example.com")
    #expect(first.user.realEmail == "1@example.com")
    #expect(first.user.emailConfirmedAt == now)
    #expect(first.user.appMetadata == ["provider": "apple", "providers": ["apple"]])
    #expect(
      first.user.userMetadata == [
        "email_verified": true, "name": "Ada Lovelace", "full_name": "Ada Lovelace", "given_name": "Ada",
        "family_name": "Lovelace",
      ])
    #expect(first.user.identities.map(\.subject) == ["000001.sub"])
    #expect(first.session.authTime == (now - 3_000) / 1_000)
    #expect(first.session.keyID == Fixture.key)
    #expect(try await fixture.users.user(Fixture.id(1)) == first.user)

    let later = now + 90_000
    let second = try await fixture.signIn(1, token: 2, 2, now: later).get()
    #expect(second.user.id == Fixture.id(1))
    #expect(second.session.id == Fixture.id(20_002))
    #expect(second.user.lastSignInAt == later)
    #expect(second.user.userMetadata == first.user.userMetadata)
    #expect(second.user.identities.first?.lastSignInAt == later)
    #expect(try await fixture.users.user(Fixture.id(1)) == second.user)
    #expect(try await fixture.count("users") == 1)
    #expect(try await fixture.count("sessions") == 2)
    let other = try await fixture.signIn(2, token: 3, 3).get()
    #expect(other.user.id == Fixture.id(3))
    #expect(try await fixture.audit() == ["user_signedup: apple", "login: apple", "user_signedup: apple"])
  }

  @Test("an operator who lets nobody new in lets in those who are there", arguments: Backend.allCases)
  func closed(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let closed = SignInPolicy(allowsSignUp: false)
    #expect(try await fixture.signIn(1, token: 1, 1, policy: closed).refusal == .signUpDisabled)
    #expect(try await fixture.count("users") == 0)
    // Nothing was changed: the same token signs in once it may.
    #expect(try await fixture.signIn(1, token: 1, 1).refusal == nil)
    #expect(try await fixture.signIn(1, token: 2, 2, policy: closed).refusal == nil)
  }

  @Test(
    "RULES §3.6: the same request within two minutes gives its session, until that was seen in use",
    arguments: Backend.allCases)
  func repeated(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let first = try await fixture.signIn(1, token: 1, 1).get()
    let again = try await fixture.accounts.signIn(
      Fixture.signIn(Fixture.assertion(1, token: 1), 2, now: now + 119_999))
    #expect(try again.get().session == first.session)
    #expect(try again.get().user == first.user)
    var other = Fixture.assertion(1, token: 1)
    other.requestHash = Fixture.hash(9)
    // RULES §2.1: another request with the token is a replay.
    #expect(try await fixture.accounts.signIn(Fixture.signIn(other, 3)).refusal == .tokenUsed)
    let late = Fixture.signIn(Fixture.assertion(1, token: 1), 4, now: now + 120_000)
    #expect(try await fixture.accounts.signIn(late).refusal == .tokenUsed)
    _ = try await fixture.accounts.session(first.session.id, now: now + 1)
    #expect(try await fixture.signIn(1, token: 1, 5).refusal == .tokenUsed)
    #expect(try await fixture.count("sessions") == 1)
    #expect(try await fixture.count("users") == 1)
  }

  @Test(
    "RULES §2.1: a challenge is taken once, for its purpose and client, while it holds",
    arguments: Backend.allCases)
  func challenges(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    func challenge(
      _ number: Int, _ purpose: ChallengePurpose = .signIn, client: String? = nil, session: UUID? = nil,
      expires: Int64 = Fixture.now + 1
    ) async throws {
      try await fixture.tokens.add(
        AppleChallenge(
          hash: Fixture.hash(number), purpose: purpose, clientID: client, session: session,
          expiresAt: expires), now: now)
    }
    func attempt(_ token: Int, challenge: Int) async throws -> SignInRefusal? {
      var assertion = Fixture.assertion(1, token: token)
      assertion.challengeHash = Fixture.hash(challenge)
      return try await fixture.accounts.signIn(Fixture.signIn(assertion, token)).refusal
    }
    #expect(try await attempt(1, challenge: 1) == .challengeInvalid)
    try await challenge(2, .link)
    try await challenge(3, client: "com.example.other")
    try await challenge(4, session: Fixture.id(8))
    try await challenge(5, expires: now)
    for number in 2...5 { #expect(try await attempt(number, challenge: number) == .challengeInvalid) }
    try await challenge(6, client: "com.example.app")
    #expect(try await attempt(6, challenge: 6) == nil)
    #expect(try await attempt(7, challenge: 6) == .challengeInvalid)
    // RULES §3.6: the request that took it, once more.
    #expect(try await attempt(6, challenge: 6) == nil)
    #expect(try await fixture.count("sessions") == 1)
  }

  @Test(
    "RULES §2.3: a token of before the last withdrawal of consent is refused, also for an unknown subject",
    arguments: Backend.allCases)
  func consent(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let iat = now - 2_000
    func event(_ id: String, _ type: String, _ time: Int64, subject: String = "000001.sub") async throws
      -> Bool
    {
      try await fixture.events.record(
        [AppleEvent(id: id, type: type, teamID: "TEAM000001", subject: subject, time: time)], now: now)
    }
    #expect(try await event("a", "email-disabled", iat + 1))
    #expect(try await event("b", "consent-revoked", iat + 1, subject: "000002.sub"))
    #expect(try await event("c", "consent-revoked", iat))
    #expect(try await event("c", "consent-revoked", iat - 10) == false)
    #expect(try await fixture.signIn(1, token: 1, 1).refusal == .consentRevoked)
    #expect(try await fixture.count("users") == 0)
    // One millisecond after, it is a new consent. An event that comes late and is older changes nothing.
    let second = try await fixture.signIn(1, token: 2, 2, now: now + 1)
    #expect(second.refusal == nil)
    #expect(try await event("d", "account-deleted", iat - 5))
    #expect(try await fixture.signIn(1, token: 3, 3, now: now + 1).refusal == nil)
    #expect(try await event("e", "account-delete", iat + 500))
    #expect(try await fixture.signIn(1, token: 4, 4, now: now + 1).refusal == .consentRevoked)
  }

  @Test("a revoked identity that signs in again is the same user, and live", arguments: Backend.allCases)
  func revived(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let first = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.database.write { _ = try await $0.execute("update identities set status = 1") }
    #expect(try await fixture.users.user(first.user.id)?.identities.first?.status == .revoked)
    let again = try await fixture.signIn(1, token: 2, 2).get()
    #expect(again.user.id == first.user.id)
    #expect(again.user.identities.map(\.status) == [.live])
    #expect(try await fixture.users.user(first.user.id)?.identities.first?.status == .live)
  }

  @Test("banned and leaving users are not let in; nothing is consumed", arguments: Backend.allCases)
  func banned(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let first = try await fixture.signIn(1, token: 1, 1).get()
    _ = try await fixture.users.update(first.user.id, UserChange(bannedUntil: now + 10), now: now)
    #expect(try await fixture.signIn(1, token: 2, 2).refusal == .banned)
    // Neither by the repeat of what was let in before.
    #expect(try await fixture.signIn(1, token: 1, 1).refusal == .banned)
    let after = Fixture.signIn(Fixture.assertion(1, token: 2), 3, now: now + 10)
    #expect(try await fixture.accounts.signIn(after).refusal == nil)
    try await fixture.database.write { _ = try await $0.execute("update users set deleting_since = 1") }
    #expect(try await fixture.signIn(1, token: 4, 4, now: now + 10).refusal == .deleting)
  }

  @Test(
    "RULES §3.11: a verified address finds the one user who has it, by policy and never a relay's",
    arguments: Backend.allCases)
  func matching(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let matching = SignInPolicy(matchesVerifiedEmail: true)
    func imported(_ number: Int, _ email: String, isConfirmed: Bool = true) async throws {
      var user = User(
        id: Fixture.id(number), isAnonymous: false, email: email, createdAt: now, updatedAt: now)
      user.emailConfirmedAt = isConfirmed ? now : nil
      #expect(try await fixture.users.create(user) == .created(user))
    }
    try await imported(100, "1@example.com")
    try await imported(101, "3@example.com", isConfirmed: false)
    try await imported(102, "x@privaterelay.appleid.com")
    // Off by default.
    #expect(try await fixture.signIn(1, token: 1, 1).get().user.id == Fixture.id(1))
    // Two users have it now: it finds nobody.
    #expect(try await fixture.signIn(7, token: 2, 2, policy: matching).get().user.id == Fixture.id(2))
    #expect(try await fixture.delete(Fixture.id(1), now: now))
    var unverified = Fixture.assertion(1, token: 3)
    unverified.isEmailVerified = false
    let stranger = try await fixture.accounts.signIn(Fixture.signIn(unverified, 3, policy: matching)).get()
    #expect(stranger.user.id == Fixture.id(3))
    #expect(try await fixture.delete(Fixture.id(3), now: now))
    let found = try await fixture.signIn(1, token: 4, 4, policy: matching).get()
    #expect(found.user.id == Fixture.id(100))
    #expect(found.user.identities.map(\.subject) == ["000001.sub"])
    #expect(try await fixture.users.user(Fixture.id(100)) == found.user)
    #expect(try await fixture.audit().contains("identity_linked: matched by verified address"))
    // The user has a live identity of the team: another one of that address is another user.
    let other = Fixture.assertion(8, token: 5, email: "1@example.com")
    let apart = try await fixture.accounts.signIn(Fixture.signIn(other, 5, policy: matching)).get()
    #expect(apart.user.id == Fixture.id(5))
    #expect(try await fixture.signIn(3, token: 6, 6, policy: matching).get().user.id == Fixture.id(6))
    let relay = Fixture.assertion(9, token: 7, email: "x@privaterelay.appleid.com")
    let hidden = try await fixture.accounts.signIn(Fixture.signIn(relay, 7, policy: matching)).get()
    #expect(hidden.user.id == Fixture.id(7))
  }

  @Test("transfer_sub re-keys the identity; the user stays", arguments: Backend.allCases)
  func transfer(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let first = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.database.write {
      _ = try await $0.execute("update identities set transfer_subject = 'moved.1'")
    }
    var assertion = Fixture.assertion(50, token: 2, email: "new@privaterelay.appleid.com")
    assertion.teamID = "TEAM000002"
    assertion.transferSubject = "moved.1"
    let moved = try await fixture.accounts.signIn(Fixture.signIn(assertion, 2)).get()
    #expect(moved.user.id == first.user.id)
    #expect(moved.user.identities.map(\.teamID) == ["TEAM000002"])
    #expect(moved.user.identities.map(\.subject) == ["0000050.sub"])
    // Mail goes where the new team may send it; their own address is kept.
    #expect(moved.user.email == "new@privaterelay.appleid.com")
    #expect(moved.user.realEmail == "1@example.com")
    #expect(try await fixture.users.user(first.user.id) == moved.user)
    assertion.transferSubject = nil
    assertion.tokenHash = Fixture.hash(5)
    #expect(try await fixture.accounts.signIn(Fixture.signIn(assertion, 3)).get().user.id == first.user.id)
    // The old name is nobody's now.
    #expect(try await fixture.signIn(1, token: 4, 4).get().user.id == Fixture.id(4))
    #expect(try await fixture.count("identities") == 2)
  }
}
