import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Linking") struct LinkContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  @Test("an anonymous user keeps id and data, and the answer shows the identity", arguments: Backend.allCases)
  func conversion(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let old = try await fixture.signUp(1, keyID: Fixture.key)
    _ = try await fixture.users.update(old.user.id, UserChange(userMetadata: ["level": 3]), now: now)
    let new = try await fixture.link(1, token: 1, 2, bearer: old.session.id).get()
    #expect(new.user.id == old.user.id)
    #expect(!new.user.isAnonymous)
    #expect(new.user.userMetadata == ["level": 3, "email_verified": true])
    #expect(new.user.appMetadata == ["provider": "apple", "providers": ["apple"]])
    #expect(new.user.email == "1@example.com")
    #expect(new.user.identities.map(\.id) == [Fixture.id(10_002)])
    #expect(new.session.id == Fixture.id(20_002))
    #expect(new.session.methods.map(\.method) == ["oauth"])
    #expect(new.session.authTime == (now - 3_000) / 1_000)
    // RULES §3.5: the session was bound to a key, and so is its successor.
    #expect(new.session.keyID == Fixture.key)
    #expect(try await fixture.users.user(old.user.id) == new.user)
    #expect(try await fixture.signIn(1, token: 2, 3).get().user.id == old.user.id)
    #expect(try await fixture.audit().contains("identity_linked: apple"))
  }

  @Test(
    "RULES §3.8: the old session goes on until the new one is seen in use, then yields it for 60 s, then stops",
    arguments: Backend.allCases)
  func retirement(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let old = try await fixture.signUp(1)
    let new = try await fixture.link(1, token: 1, 2, bearer: old.session.id).get()
    let rotated = try #require(try await fixture.refresh(old.session.id, 0).session)
    #expect(rotated.session.id == old.session.id)
    #expect(rotated.session.counter == 1)
    #expect(!rotated.user.isAnonymous)
    let seen = try await fixture.accounts.session(new.session.id, now: now + 1_000)
    #expect(seen?.session.acknowledgedAt == now + 1_000)
    for counter: Int64 in [0, 1] {
      let yielded = try await fixture.refresh(old.session.id, counter, now: now + 60_999)
      #expect(yielded.session?.session == seen?.session)
    }
    for counter: Int64 in [0, 1] {
      let late = try await fixture.refresh(old.session.id, counter, now: now + 61_000)
      #expect(late.refusal == .reused(endedFamily: false))
    }
    // The old access token works on, and the new session is untouched.
    #expect(try await fixture.accounts.session(old.session.id, now: now + 61_000)?.user == new.user)
    #expect(try await fixture.refresh(new.session.id, 0, now: now + 61_000).session?.session.counter == 1)
    // Also when the successor has ended.
    #expect(try await fixture.accounts.signOut(new.session.id, .local, now: now))
    #expect(try await fixture.accounts.session(old.session.id, now: now) == nil)
  }

  @Test(
    "RULES §3.8: a retired session whose successor ended by reuse is not told that it is unknown",
    arguments: Backend.allCases)
  func retiredAndEnded(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let old = try await fixture.signUp(1)
    let new = try await fixture.link(1, token: 1, 2, bearer: old.session.id).get()
    let other = try await fixture.signIn(1, token: 2, 3).get()
    #expect(try await fixture.accounts.session(new.session.id, now: now) != nil)
    try await fixture.database.write {
      _ = try await $0.execute("delete from sessions where id = $1", [.uuid(new.session.id.octets)])
    }
    #expect(try await fixture.refresh(old.session.id, 0).refusal == .reused(endedFamily: false))
    #expect(try await fixture.refresh(other.session.id, 0).session != nil)
  }

  @Test(
    "RULES §3.8: the same link by the old bearer gives a session again, also with a new token",
    arguments: Backend.allCases)
  func repeated(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let old = try await fixture.signUp(1)
    let new = try await fixture.link(1, token: 1, 2, bearer: old.session.id).get()
    #expect(try await fixture.link(1, token: 1, 3, bearer: old.session.id).get().session == new.session)
    _ = try await fixture.accounts.session(new.session.id, now: now)
    #expect(try await fixture.link(1, token: 1, 4, bearer: old.session.id).get().session.id == new.session.id)
    let fresh = try await fixture.link(1, token: 2, 5, bearer: old.session.id).get()
    #expect(fresh.session.id == Fixture.id(20_005))
    #expect(fresh.user.id == old.user.id)
    // RULES §2.1: another request with the token, or another bearer, is a replay.
    var other = Fixture.assertion(1, token: 1)
    other.requestHash = Fixture.hash(9)
    let replay = Fixture.link(other, 6, bearer: old.session.id)
    #expect(try await fixture.accounts.link(replay).refusal == .tokenUsed)
    let stranger = try await fixture.signUp(7)
    #expect(try await fixture.link(1, token: 1, 8, bearer: stranger.session.id).refusal == .tokenUsed)
    // By the session that has it already, it is linked.
    #expect(try await fixture.link(1, token: 3, 9, bearer: new.session.id).refusal == .alreadyLinked)
    #expect(try await fixture.count("identities") == 1)
  }

  @Test(
    "RULES §3.8: a retired session stays retired when its link is repeated with a new token",
    arguments: Backend.allCases)
  func stillRetired(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let old = try await fixture.signUp(1)
    let new = try await fixture.link(1, token: 1, 2, bearer: old.session.id).get()
    _ = try await fixture.accounts.session(new.session.id, now: now)
    let again = try await fixture.link(1, token: 2, 3, bearer: old.session.id).get()
    #expect(again.session.id == Fixture.id(20_003))
    #expect(try await fixture.refresh(old.session.id, 0).session?.session.id == again.session.id)
    let late = try await fixture.refresh(old.session.id, 0, now: now + 60_000)
    #expect(late.refusal == .reused(endedFamily: false))
    #expect(try await fixture.refresh(new.session.id, 0, now: now + 60_000).session != nil)
    #expect(try await fixture.refresh(again.session.id, 0, now: now + 60_000).session != nil)
  }

  @Test(
    "RULES §3.6: a conflict leaves session and token alone, and offers to switch", arguments: Backend.allCases
  )
  func conflict(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let owner = try await fixture.signIn(1, token: 1, 1).get()
    let guest = try await fixture.signUp(2)
    try await fixture.tokens.add(
      AppleChallenge(
        hash: Fixture.hash(77), purpose: .link, session: guest.session.id, expiresAt: now + 1), now: now)
    var assertion = Fixture.assertion(1, token: 2)
    assertion.challengeHash = Fixture.hash(77)
    for number in [3, 4] {
      let link = Fixture.link(assertion, number, bearer: guest.session.id)
      #expect(try await fixture.accounts.link(link).refusal == .linkedToAnotherUser)
    }
    #expect(try await fixture.refresh(guest.session.id, 0).session != nil)
    #expect(try await fixture.users.user(guest.user.id)?.isAnonymous == true)
    let stranger = try await fixture.signUp(6)
    let stolen = Fixture.link(assertion, 7, bearer: stranger.session.id)
    #expect(try await fixture.accounts.link(stolen).refusal == .tokenUsed)
    let late = Fixture.signIn(assertion, 8, now: now + 300_000)
    #expect(try await fixture.accounts.signIn(late).refusal == .tokenUsed)
    // Its challenge was for linking, and is consumed: for this token it counts.
    let plain = try await fixture.accounts.signIn(Fixture.signIn(assertion, 5, now: now + 299_999)).get()
    #expect(plain.user.id == owner.user.id)
    var other = assertion
    other.requestHash = Fixture.hash(9)
    #expect(try await fixture.accounts.signIn(Fixture.signIn(other, 9)).refusal == .tokenUsed)
  }

  @Test(
    "RULES §3.2: one Apple identity a user and team unless policy says more, and that needs a step-up",
    arguments: Backend.allCases)
  func further(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let two = SignInPolicy(identitiesPerTeam: 2)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let bearer = open.session.id
    #expect(try await fixture.link(2, token: 2, 2, bearer: bearer).refusal == .tooManyIdentities)
    let late = now + 400_000
    #expect(
      try await fixture.link(2, token: 3, 3, bearer: bearer, policy: two, now: late).refusal
        == .stepUpRequired(maxAge: 300))
    let soon = now + 200_000
    let linked = try await fixture.link(2, token: 4, 4, bearer: bearer, policy: two, now: soon).get()
    #expect(linked.user.identities.map(\.subject) == ["000001.sub", "000002.sub"])
    // A step-up counts only with an identity that was linked before: the new one's time is not taken.
    #expect(linked.session.authTime == open.session.authTime)
    #expect(linked.user.email == "1@example.com")
    #expect(
      try await fixture.link(3, token: 5, 5, bearer: linked.session.id, policy: two).refusal
        == .tooManyIdentities)
    #expect(try await fixture.users.unlink(Fixture.id(10_001), of: Fixture.id(9), now: now) == .notFound)
    #expect(try await fixture.users.unlink(Fixture.id(10_001), of: open.user.id, now: now) == .unlinked)
    #expect(try await fixture.users.unlink(Fixture.id(10_001), of: open.user.id, now: now) == .notFound)
    #expect(try await fixture.users.unlink(Fixture.id(10_004), of: open.user.id, now: now) == .lastIdentity)
    // Mail goes to the address that is left.
    #expect(try await fixture.users.user(open.user.id)?.email == "2@example.com")
    #expect(try await fixture.signIn(1, token: 6, 6).get().user.id == Fixture.id(6))
  }

  @Test("what is refused changes nothing", arguments: Backend.allCases)
  func refusals(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let guest = try await fixture.signUp(1)
    let bearer = guest.session.id
    #expect(try await fixture.link(1, token: 1, 2, bearer: Fixture.id(5)).refusal == .sessionNotFound)
    var assertion = Fixture.assertion(1, token: 2)
    assertion.challengeHash = Fixture.hash(5)
    for (purpose, session) in [
      (ChallengePurpose.signIn, nil), (.link, Fixture.id(6)), (.reauthenticate, bearer),
    ] {
      try await fixture.database.write { _ = try await $0.execute("delete from apple_challenges") }
      try await fixture.tokens.add(
        AppleChallenge(hash: Fixture.hash(5), purpose: purpose, session: session, expiresAt: now + 1),
        now: now)
      let link = Fixture.link(assertion, 3, bearer: bearer)
      #expect(try await fixture.accounts.link(link).refusal == .challengeInvalid)
    }
    #expect(
      try await fixture.users.create(
        User(
          id: Fixture.id(50), isAnonymous: false, email: "1@example.com", createdAt: now, updatedAt: now))
        != .emailTaken)
    #expect(try await fixture.link(1, token: 4, 4, bearer: bearer).refusal == .emailTaken)
    _ = try await fixture.users.update(guest.user.id, UserChange(bannedUntil: .max), now: now)
    #expect(try await fixture.link(2, token: 5, 5, bearer: bearer).refusal == .banned)
    #expect(try await fixture.count("identities") == 0)
    #expect(try await fixture.count("used_identity_tokens") == 0)
    #expect(try await fixture.count("sessions") == 1)
  }

  @Test(
    "RULES §3.3: re-authentication keeps the session, needs our challenge and the same person",
    arguments: Backend.allCases)
  func reauthentication(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let bearer = open.session.id
    let later = now + 1_000_000
    func attempt(
      _ subject: Int, token: Int, challenge: Int?, bearer: UUID = open.session.id, now: Int64 = later
    ) async throws -> Result<OpenSession, SignInRefusal> {
      var assertion = Fixture.assertion(subject, token: token, now: later)
      assertion.challengeHash = challenge.map { Fixture.hash($0) }
      return try await fixture.accounts.reauthenticate(
        Fixture.signIn(assertion, token, now: now), bearer: bearer)
    }
    func challenge(_ number: Int, _ purpose: ChallengePurpose, _ session: UUID?) async throws {
      try await fixture.tokens.add(
        AppleChallenge(
          hash: Fixture.hash(number), purpose: purpose, session: session, expiresAt: later + 1), now: now)
    }
    try await challenge(1, .reauthenticate, bearer)
    try await challenge(2, .reauthenticate, Fixture.id(99))
    try await challenge(3, .reauthenticate, nil)
    try await challenge(4, .signIn, nil)
    try await challenge(5, .link, bearer)
    #expect(try await attempt(1, token: 2, challenge: nil).refusal == .challengeInvalid)
    for number in 2...5 {
      #expect(try await attempt(1, token: 3, challenge: number).refusal == .challengeInvalid)
    }
    #expect(try await attempt(1, token: 3, challenge: 1, bearer: Fixture.id(9)).refusal == .sessionNotFound)
    #expect(try await attempt(2, token: 4, challenge: 1).refusal == .userMismatch)
    _ = try await fixture.signIn(3, token: 5, 5).get()
    #expect(try await attempt(3, token: 6, challenge: 1).refusal == .userMismatch)
    #expect(try await fixture.count("users") == 2)
    #expect(try await fixture.accounts.session(bearer, now: now)?.session.authTime == open.session.authTime)

    let renewed = try await attempt(1, token: 7, challenge: 1).get()
    #expect(renewed.session.id == bearer)
    #expect(renewed.session.authTime == (later - 3_000) / 1_000)
    #expect(renewed.session.methods == [AuthenticationMethod(method: "oauth", timestamp: later / 1_000)])
    #expect(try await fixture.accounts.session(bearer, now: later) == renewed)
    // RULES §3.6: sent twice, it is answered twice; another request with token or challenge is not.
    #expect(try await attempt(1, token: 7, challenge: 1, now: later + 119_999).get() == renewed)
    #expect(try await attempt(1, token: 7, challenge: 1, now: later + 120_000).refusal == .tokenUsed)
    #expect(try await attempt(1, token: 8, challenge: 1).refusal == .challengeInvalid)
    // A refresh keeps auth_time.
    let refreshed = try await fixture.refresh(bearer, 0, now: later + 9_000)
    #expect(refreshed.session?.session.authTime == renewed.session.authTime)
  }
}
