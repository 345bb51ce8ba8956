import Accounts
import Encodings
import SQL
import Stores
import Testing

private typealias Fixture = AccountFixture

/// What the operator lets Apple's word do.
@Suite struct AppleEventPolicyTests {
  private let now = Fixture.now
  private let two = SignInPolicy(identitiesPerTeam: 2)

  private func event(_ id: String, _ type: String, subject: Int = 1, time: Int64? = nil) -> AppleEvent {
    AppleEvent(
      id: id, type: type, teamID: "TEAM000001", subject: "00000\(subject).sub", time: time ?? now + 5)
  }

  private func apply(
    _ fixture: Fixture, _ event: AppleEvent, holds: Bool = false, _ policy: AppleEventPolicy
  ) async throws -> AppleEventResult? {
    _ = try await fixture.events.record([event], now: now + 6)
    return try await fixture.events.apply(event.id, consentHolds: holds, policy: policy, now: now + 7)
  }

  /// A user with the identities 1 and 2, and a session.
  private func couple(_ fixture: Fixture) async throws -> OpenSession {
    let first = try await fixture.signIn(1, token: 1, 1).get()
    _ = try await fixture.accounts.session(first.session.id, now: now)
    return try await fixture.link(2, token: 2, 2, bearer: first.session.id, policy: two).get()
  }

  @Test(
    "where another identity is left, unlink and delete take the one off, and the account stays",
    arguments: Backend.allCases)
  func unlinked(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await couple(fixture)
    #expect(open.user.email == "1@example.com")
    let result = try await apply(
      fixture, event("a", "consent-revoked"), AppleEventPolicy(onConsentRevoked: .unlink))
    #expect(result == AppleEventResult(.unlinked, user: open.user.id))
    let user = try #require(try await fixture.users.user(open.user.id))
    #expect(user.identities.map(\.subject) == ["000002.sub"])
    #expect(user.email == "2@example.com", "mail goes to the one that is left")
    #expect(try await fixture.accounts.session(open.session.id, now: now) == nil)
    #expect(try await fixture.audit().suffix(2).first == "identity_revoked: consent-revoked by Apple")
    #expect(try await fixture.audit().last == "identity_unlinked: consent-revoked by Apple")
    // The other goes as well: it is the last, and so it is marked, not lost.
    #expect(
      try await apply(
        fixture, event("b", "consent-revoked", subject: 2), AppleEventPolicy(onConsentRevoked: .unlink))?
        .outcome == .revoked)
    #expect(try await fixture.users.user(open.user.id)?.identities.map(\.status) == [.revoked])
    let back = try await fixture.signIn(2, token: 9, 9, now: now + 60_000).get()
    #expect(back.user.id == open.user.id)

    let other = try await Fixture(backend)
    let pair = try await couple(other)
    for policy in [AppleEventPolicy(onAccountDeleted: .delete)] {
      #expect(try await apply(other, event("c", "account-deleted"), policy)?.outcome == .unlinked)
    }
    #expect(try await other.users.user(pair.user.id)?.identities.map(\.subject) == ["000002.sub"])
  }

  @Test(
    "an account is deleted once its sessions are closed; the event waits until the deletion is begun",
    arguments: Backend.allCases)
  func deleting(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let policies = [
      ("consent-revoked", AppleEventPolicy(onConsentRevoked: .delete)),
      ("account-delete", AppleEventPolicy(onAccountDeleted: .delete)),
    ]
    for (type, policy) in policies {
      let due = AppleEventResult(.deleting, user: open.user.id)
      #expect(try await apply(fixture, event(type, type), policy) == due)
      #expect(try await fixture.accounts.session(open.session.id, now: now) == nil)
      // The process ended here: the same again, and nothing is told twice.
      let lines = try await fixture.audit().count
      #expect(try await apply(fixture, event(type, type), policy) == due)
      #expect(try await fixture.audit().count == lines)
      try await fixture.events.finish(type, .deleting, now: now + 8)
      #expect(try await apply(fixture, event(type, type), policy) == nil)
    }
  }

  @Test(
    "RULES §2.3: who signed in again before the deletion was begun is not deleted",
    arguments: Backend.allCases)
  func signedInAgain(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let policy = AppleEventPolicy(onConsentRevoked: .delete)
    #expect(try await apply(fixture, event("a", "consent-revoked"), policy)?.outcome == .deleting)
    let back = try await fixture.signIn(1, token: 2, 2, now: now + 60_000).get()
    #expect(back.user.id == open.user.id)
    #expect(try await apply(fixture, event("a", "consent-revoked"), policy)?.outcome == .stale)
    #expect(try await fixture.accounts.session(back.session.id, now: now + 60_000) != nil)
  }

  @Test(
    "RULES §2.4: before a deletion Apple's token is asked about: one that holds means no action",
    arguments: Backend.allCases)
  func contradicted(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    for (id, policy) in [
      ("consent-revoked", AppleEventPolicy(onConsentRevoked: .delete)),
      ("account-deleted", AppleEventPolicy(onAccountDeleted: .delete)),
    ] {
      #expect(try await apply(fixture, event(id, id), holds: true, policy)?.outcome == .contradicted)
    }
    #expect(try await fixture.accounts.session(open.session.id, now: now) != nil)
    #expect(try await fixture.users.user(open.user.id)?.identities.map(\.status) == [.live])
    // Signing out is no deletion: it needs no asking.
    #expect(
      try await apply(fixture, event("x", "consent-revoked"), holds: true, AppleEventPolicy())?.outcome
        == .revoked)
  }

  @Test("RULES §2.4: what Apple is to be asked about comes with the event", arguments: Backend.allCases)
  func tokens(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.tokens.keep(
      SealedAppleToken(
        teamID: "TEAM000001", subject: "000001.sub", clientID: "com.example.app", sealingKey: "k",
        sealed: [1],
        nextCheck: now), now: now)
    let kept = try await fixture.tokens.tokens(of: open.user.id)
    _ = try await fixture.events.record(
      [event("a", "consent-revoked"), event("b", "email-disabled")], now: now + 6)
    let pending = try await fixture.events.pending(now: now + 6, retryAt: now + 9, limit: 9)
    #expect(pending.map(\.tokens) == [kept, []])
  }

  @Test(
    "what Apple told of forwarding before a sign-up holds for the new account", arguments: Backend.allCases)
  func forwardingBefore(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    func told(_ id: String, _ type: String, _ subject: Int, _ time: Int64) async throws {
      #expect(
        try await apply(fixture, event(id, type, subject: subject, time: time), AppleEventPolicy())?.outcome
          == .unknownSubject)
    }
    try await told("a", "email-disabled", 1, now - 9_000)
    try await told("b", "email-disabled", 2, now - 9_000)
    try await told("c", "email-enabled", 2, now - 8_000)
    // After a withdrawn consent the address may be another one.
    try await told("d", "email-disabled", 3, now - 9_000)
    try await told("e", "consent-revoked", 3, now - 8_000)
    let users = [
      try await fixture.signIn(1, token: 1, 1).get(), try await fixture.signIn(2, token: 2, 2).get(),
      try await fixture.signIn(3, token: 3, 3).get(), try await fixture.signIn(4, token: 4, 4).get(),
    ]
    #expect(users.map { $0.user.identities.first?.forwardsEmail } == [false, true, nil, nil])
    // A notification that is older than what is known does nothing.
    #expect(
      try await apply(
        fixture, event("f", "email-enabled", subject: 1, time: now - 9_500), AppleEventPolicy())?.outcome
        == .stale)
    #expect(try await fixture.users.user(users[0].user.id)?.identities.first?.forwardsEmail == false)
    // Linking is a sign-up for the identity.
    try await told("g", "email-disabled", 7, now - 9_000)
    let guest = try await fixture.signUp(7)
    let linked = try await fixture.link(7, token: 7, 8, bearer: guest.session.id).get()
    #expect(linked.user.identities.first?.forwardsEmail == false)
  }

  @Test(
    "an event that was written while the clock ran a day ahead is due, and one to come within hours is not",
    arguments: Backend.allCases)
  func clockAhead(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let hour: Int64 = 3_600_000
    #expect(
      try await fixture.events.record([event("a", "account-deleted")], now: now + 24 * hour))
    #expect(
      try await fixture.events.record([event("b", "account-deleted")], now: now + 12 * hour))
    let due = try await fixture.events.pending(now: now, retryAt: now + 60_000, limit: 9)
    #expect(due.map(\.event.id) == ["a"])
    // Asked for once, it waits as any other.
    #expect(try await fixture.events.pending(now: now + 59_999, retryAt: now, limit: 9).isEmpty)
    let again = try await fixture.events.pending(now: now + 60_000, retryAt: now + 120_000, limit: 9)
    #expect(again.map(\.event.id) == ["a"])
  }
}
