import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Sessions") struct SessionContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  @Test(
    "RULES §3.4: current rotates, its parent gets the current again at any later time",
    arguments: Backend.allCases)
  func rotation(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signUp(1)
    let id = open.session.id
    let first = try #require(try await fixture.refresh(id, 0, now: now + 5).session)
    #expect(first.session.counter == 1)
    #expect(first.session.refreshedAt == now + 5)
    #expect(first.session.acknowledgedAt == now + 5)
    #expect(first.user == open.user)
    for later in [now + 6, now + 100_000_000_000] {
      #expect(try await fixture.refresh(id, 0, now: later).session == first)
    }
    #expect(try await fixture.refresh(id, 1).session?.session.counter == 2)
    #expect(try await fixture.accounts.session(id, now: now)?.session.counter == 2)
    #expect(try await fixture.refresh(Fixture.id(9), 0).refusal == .notFound)
  }

  @Test(
    "RULES §3.5: reuse ends the session of a user with an identity, keeps an anonymous one, and is audited",
    arguments: Backend.allCases)
  func reuse(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let guest = try await fixture.signUp(1, keyID: Fixture.key)
    let user = try await fixture.signIn(1, token: 1, 2).get()
    let other = try await fixture.signIn(1, token: 2, 3).get()
    for id in [guest.session.id, user.session.id] {
      for counter: Int64 in [0, 1] {
        #expect(try await fixture.refresh(id, counter, binding: .off).session != nil)
      }
    }
    #expect(
      try await fixture.refresh(user.session.id, 0).refusal == .reused(endedFamily: true))
    #expect(try await fixture.refresh(user.session.id, 2).refusal == .notFound)
    #expect(try await fixture.accounts.session(user.session.id, now: now) == nil)
    #expect(try await fixture.refresh(other.session.id, 0).session != nil)
    #expect(
      try await fixture.refresh(guest.session.id, 0, binding: .off).refusal == .reused(endedFamily: false))
    // The device proves itself: what others may hold is worth nothing from now on.
    let reopened = try await fixture.refresh(guest.session.id, 0, keyID: Fixture.key)
    #expect(reopened.session?.session.counter == 4)
    for counter: Int64 in [1, 2] {
      #expect(
        try await fixture.refresh(guest.session.id, counter, binding: .off).refusal
          == .reused(endedFamily: false))
    }
    #expect(try await fixture.refresh(guest.session.id, 4, keyID: Fixture.key).session != nil)
    let audit = try await fixture.audit().filter { $0.hasPrefix("token_revoked") }
    #expect(audit.first == "token_revoked: refresh token reused: session ended")
    #expect(audit.dropFirst().allSatisfy { $0 == "token_revoked: refresh token reused: session kept" })
    #expect(audit.count == 4)
  }

  @Test(
    "RULES §3.5: where every session is bound, one without a key binds to the first that refreshes it",
    arguments: Backend.allCases)
  func binding(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let id = try await fixture.signUp(1).session.id
    #expect(try await fixture.refresh(id, 0, binding: .require).refusal == .attestationRequired)
    #expect(try await fixture.refresh(id, 0, keyID: Fixture.key).session?.session.keyID == nil)
    let bound = try await fixture.refresh(id, 1, keyID: Fixture.key, binding: .require)
    #expect(bound.session?.session.keyID == Fixture.key)
    #expect(try await fixture.refresh(id, 2).refusal == .attestationRequired)
    #expect(
      try await fixture.refresh(id, 2, keyID: Fixture.hash(4), binding: .require).refusal
        == .attestationRequired)
    #expect(try await fixture.refresh(id, 2, keyID: Fixture.key).session?.session.counter == 3)
  }

  @Test(
    "RULES §3.5: a reinstalled app keeps its anonymous account: the session moves to its new key, and is told of",
    arguments: Backend.allCases)
  func moving(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let id = try await fixture.signUp(1).session.id
    _ = try await fixture.refresh(id, 0, keyID: Fixture.key, binding: .require)
    let moved = try await fixture.refresh(id, 1, keyID: Fixture.hash(4))
    #expect(moved.session?.session.keyID == Fixture.hash(4))
    #expect(try await fixture.refresh(id, 2).refusal == .attestationRequired)
    #expect(try await fixture.audit().contains("session_moved: refreshed with another key"))
  }

  @Test("a ban stops every session while it lasts and ends none", arguments: Backend.allCases)
  func ban(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signUp(1)
    let id = open.session.id
    _ = try await fixture.users.update(open.user.id, UserChange(bannedUntil: now + 10), now: now)
    #expect(try await fixture.refresh(id, 0).refusal == .banned)
    #expect(try await fixture.accounts.session(id, now: now)?.user.isBanned(at: now) == true)
    #expect(try await fixture.refresh(id, 0, now: now + 10).session != nil)
    _ = try await fixture.users.update(open.user.id, UserChange(bannedUntil: .max), now: now)
    #expect(try await fixture.refresh(id, 1, now: .max / 2).refusal == .banned)
    _ = try await fixture.users.update(open.user.id, UserChange(bannedUntil: .some(nil)), now: now)
    #expect(try await fixture.refresh(id, 1).session != nil)
    try await fixture.database.write { _ = try await $0.execute("update users set deleting_since = 5") }
    #expect(try await fixture.refresh(id, 2).refusal == .deleting)
    #expect(try await fixture.accounts.session(id, now: now)?.user.deletingSince == 5)
    #expect(
      try await fixture.audit() == [
        "user_signedup: anonymous", "user_banned", "user_banned", "user_unbanned",
      ])
  }

  @Test("signing out ends every session that this one replaced as well", arguments: Backend.allCases)
  func signOutChain(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let two = SignInPolicy(identitiesPerTeam: 2)
    let guest = try await fixture.signUp(1).session.id
    let first = try await fixture.link(1, token: 1, 2, bearer: guest).get().session.id
    let second = try await fixture.link(2, token: 2, 3, bearer: first, policy: two).get().session.id
    let other = try await fixture.signIn(1, token: 3, 4).get().session.id
    #expect(try await fixture.accounts.signOut(second, .local, now: now))
    for id in [guest, first, second] { #expect(try await fixture.accounts.session(id, now: now) == nil) }
    #expect(try await fixture.accounts.session(other, now: now) != nil)
  }

  @Test(
    "RULES §3.8: signing the others out costs nobody the session that a link opened, answered or not",
    arguments: Backend.allCases)
  func signOutOthersAfterLink(backend: Backend) async throws {
    for isSeen in [false, true] {
      let fixture = try await Fixture(backend)
      let guest = try await fixture.signUp(1).session.id
      let linked = try await fixture.link(1, token: 1, 2, bearer: guest).get().session.id
      let other = try await fixture.signIn(1, token: 3, 4).get().session.id
      if isSeen { #expect(try await fixture.accounts.session(linked, now: now) != nil) }
      #expect(try await fixture.accounts.signOut(guest, .others, now: now))
      #expect(try await fixture.accounts.session(other, now: now) == nil)
      // Whoever lost the link's answer has the guest's tokens alone; who has it, has the new ones.
      let refreshed = try await fixture.refresh(isSeen ? linked : guest, 0, now: now + 100_000)
      #expect(refreshed.session?.user.isAnonymous == false)
      #expect(try await fixture.accounts.session(linked, now: now) != nil)
    }
  }

  @Test("signing out ends what its scope says", arguments: Backend.allCases)
  func signOut(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    func open() async throws -> [UUID] {
      try await fixture.database.write { _ = try await $0.execute("delete from users") }
      try await fixture.database.write { _ = try await $0.execute("delete from used_identity_tokens") }
      return [
        try await fixture.signIn(1, token: 1, 1).get().session.id,
        try await fixture.signIn(1, token: 2, 2).get().session.id,
        try await fixture.signIn(1, token: 3, 3).get().session.id,
        try await fixture.signIn(2, token: 4, 4).get().session.id,
      ]
    }
    func living(_ ids: [UUID]) async throws -> [Int] {
      var left: [Int] = []
      for (index, id) in ids.enumerated()
      where try await fixture.accounts.session(id, now: now) != nil { left.append(index) }
      return left
    }
    for (scope, left) in [
      (SignOutScope.global, [3]), (.local, [0, 2, 3]), (.others, [1, 3]),
    ] {
      let ids = try await open()
      #expect(try await fixture.accounts.signOut(ids[1], scope, now: now))
      #expect(try await living(ids) == left)
      #expect(try await fixture.accounts.signOut(ids[1], scope, now: now) == (scope == .others))
      if scope != .others { #expect(try await fixture.refresh(ids[1], 0).refusal == .notFound) }
    }
    #expect(try await fixture.accounts.signOut(Fixture.id(5), .global, now: now) == false)
  }
}
