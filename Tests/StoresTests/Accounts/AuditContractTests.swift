import Accounts
import Admission
import AppAttest
import Encodings
import SQL
import Stores
import Testing

private typealias Fixture = AccountFixture

/// The contract of ``AuditStore``, and what the other stores write for it.
@Suite struct AuditContractTests {
  private let now = Fixture.now
  private let phone = RequestOrigin(.user, address: "192.0.2.7")
  private let staff = RequestOrigin(.operator(key: "backend"), address: "198.51.100.1")

  private func entries(
    _ fixture: Fixture, _ filter: AuditFilter = AuditFilter(), before: Int64? = nil, limit: Int64 = 100
  ) async throws -> [AuditEntry] {
    try await SQLAuditStore(fixture.database).audit(filter, before: before, limit: limit)
  }

  @Test(
    "every act says who asked, from where, with which device, and what came of it",
    arguments: Backend.allCases)
  func origins(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let guest = try await fixture.accounts.signUp(
      AnonymousSignUp(
        user: Fixture.id(1), session: Fixture.id(20_001), userMetadata: [:], keyID: Fixture.key,
        origin: phone,
        now: now))
    var signIn = Fixture.signIn(Fixture.assertion(1, token: 1), 2)
    signIn.origin = phone
    let user = try await fixture.accounts.signIn(signIn).get()
    _ = try await fixture.users.update(
      user.user.id, UserChange(bannedUntil: .max), by: staff, now: now + 1)
    signIn = Fixture.signIn(Fixture.assertion(1, token: 2), 3)
    signIn.origin = phone
    #expect(try await fixture.accounts.signIn(signIn).refusal == .banned)
    _ = try await fixture.accounts.signOut(guest.session.id, .global, by: phone, now: now + 2)
    #expect(try await fixture.delete(user.user.id, by: staff, now: now + 3))
    let found = try await entries(fixture)
    #expect(
      found.reversed().map { "\($0.action) \($0.result) \($0.origin?.actor.word ?? "nobody")" } == [
        "user_signedup done user", "user_signedup done user", "user_banned done operator",
        "login refused user", "logout done user", "user_deletion_begun done operator",
        "user_deleted done operator",
      ])
    #expect(found.last?.origin == phone.with(device: Fixture.key))
    #expect(found.last?.user == guest.user.id && found.last?.session == guest.session.id)
    #expect(found[1].origin == staff && found[0].origin?.actor == staff.actor)
    #expect(found.first?.time == now + 3)
    #expect(found[3].reason == "banned" && found[3].user == user.user.id)
  }

  @Test(
    "a device's registration is told, with its address; a refusal once a minute for an address and a reason",
    arguments: Backend.allCases)
  func registrations(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let (keys, key) = (fixture.base.keys, StoreFixture.key(1))
    let time = StoreFixture.epoch * 1_000
    func register(_ challenge: Int, _ key: DeviceKey = key) async throws -> RegistrationOutcome {
      try await keys.register(
        key, receipt: [1], challenge: StoreFixture.octets(challenge, 16),
        challengeExpiry: StoreFixture.epoch + 300, from: "192.0.2.7")
    }
    #expect(try await register(1) == .created)
    #expect(try await register(1) == .alreadyRegistered)
    #expect(try await register(1, StoreFixture.key(2)) == .challengeUsed)
    #expect(try await register(1, StoreFixture.key(3)) == .challengeUsed)
    for (address, moment) in [
      ("192.0.2.7", 1), ("192.0.2.7", 59_999), ("192.0.2.8", 2), ("192.0.2.7", 60_001),
    ] {
      try await keys.refused(
        key.keyID, reason: "attestation_invalid", from: address, now: time + Int64(moment))
    }
    let found = try await entries(fixture).reversed()
    #expect(
      found.map { "\($0.action) \($0.result) \($0.origin?.address ?? "-") \($0.reason ?? "-")" } == [
        "device_key_registered done 192.0.2.7 production \(StoreFixture.appID)",
        "device_key_registered refused 192.0.2.7 challenge used",
        "device_key_registered refused 192.0.2.7 attestation_invalid",
        "device_key_registered refused 192.0.2.8 attestation_invalid",
        "device_key_registered refused 192.0.2.7 attestation_invalid",
      ])
    #expect(found.first?.origin?.device == key.keyID && found.first?.origin?.actor == .user)
    #expect(found.allSatisfy { $0.user == nil })
  }

  @Test("lines are paged newest first, by user, act and time", arguments: Backend.allCases)
  func pages(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...5 { _ = try await fixture.signUp(number, now: now + Int64(number)) }
    _ = try await fixture.accounts.signOut(Fixture.id(20_003), .global, by: phone, now: now + 9)
    let all = try await entries(fixture)
    #expect(all.count == 6)
    #expect(all.map(\.id) == all.map(\.id).sorted(by: >))
    var paged: [AuditEntry] = []
    while let more = try? await entries(fixture, before: paged.last?.id, limit: 2), !more.isEmpty {
      paged += more
    }
    #expect(paged == all)
    let third = Fixture.id(3)
    #expect(
      try await entries(fixture, AuditFilter(user: third)).map(\.action) == ["logout", "user_signedup"])
    #expect(try await entries(fixture, AuditFilter(action: "logout")).map(\.user) == [third])
    #expect(
      try await entries(fixture, AuditFilter(from: now + 2, to: now + 4)).map(\.user) == [
        third, Fixture.id(2),
      ])
    #expect(try await entries(fixture, AuditFilter(user: Fixture.id(9))).isEmpty)
    #expect(try await entries(fixture, limit: 0).isEmpty)
  }

  @Test("what is older than the policy allows is forgotten, in pieces", arguments: Backend.allCases)
  func retention(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...5 { _ = try await fixture.signUp(number, now: now + Int64(number)) }
    let store = SQLAuditStore(fixture.database)
    #expect(try await store.forgetAudit(before: now + 4, limit: 2) == 2)
    #expect(try await store.forgetAudit(before: now + 4, limit: 2) == 1)
    #expect(try await store.forgetAudit(before: now + 4, limit: 2) == 0)
    #expect(try await entries(fixture).map(\.time) == [now + 5, now + 4])
  }

  @Test(
    "RULES §3.8: an old token of a retired session is refused, ends nothing, and is written",
    arguments: Backend.allCases)
  func retiredReuse(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let guest = try await fixture.signUp(1).session.id
    for counter: Int64 in 0..<3 { _ = try await fixture.refresh(guest, counter) }
    let linked = try await fixture.link(1, token: 1, 2, bearer: guest).get()
    // The new session was not seen to arrive: the retired one lives on for who has its current token.
    #expect(try await fixture.refresh(guest, 0).refusal == .reused(endedFamily: false))
    #expect(try await fixture.refresh(guest, 3).session != nil)
    _ = try await fixture.accounts.session(linked.session.id, now: now)
    #expect(try await fixture.refresh(guest, 0).refusal == .reused(endedFamily: false))
    #expect(try await fixture.accounts.session(guest, now: now) != nil)
    let lines = try await entries(fixture, AuditFilter(action: "token_revoked"))
    #expect(lines.map(\.reason) == [String](repeating: "refresh token of a retired session reused", count: 2))
    #expect(lines.allSatisfy { $0.result == .refused && $0.session == guest && $0.user == linked.user.id })
  }

  @Test("refusals are written with their user, and a repeated one once a minute", arguments: Backend.allCases)
  func refusals(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let owner = try await fixture.signIn(1, token: 1, 1).get()
    let guest = try await fixture.signUp(2)
    _ = try await fixture.accounts.session(owner.session.id, now: now)
    for round in 0..<3 {
      #expect(try await fixture.signIn(1, token: 1, 3).refusal == .tokenUsed)
      #expect(
        try await fixture.link(1, token: 20 + round, 40 + round, bearer: guest.session.id).refusal
          == .linkedToAnotherUser)
    }
    let other = try await fixture.signIn(5, token: 5, 5).get()
    try await fixture.tokens.add(
      AppleChallenge(
        hash: Fixture.hash(900), purpose: .reauthenticate, clientID: nil, session: other.session.id,
        expiresAt: now + 60_000), now: now)
    var assertion = Fixture.assertion(1, token: 6)
    assertion.challengeHash = Fixture.hash(900)
    let wrong = Fixture.signIn(assertion, 6)
    #expect(
      try await fixture.accounts.reauthenticate(wrong, bearer: other.session.id).refusal == .userMismatch)
    // Nobody is known here: there is nobody to tell of.
    #expect(
      try await fixture.signIn(8, token: 8, 8, policy: SignInPolicy(allowsSignUp: false)).refusal
        == .signUpDisabled)
    let lines = try await entries(fixture).filter { $0.result == .refused }.reversed()
    #expect(
      lines.map { "\($0.action): \($0.reason ?? "")" } == [
        "login: token used before", "identity_linked: linked to another user",
        "login: another user's identity",
      ])
    #expect(lines.map(\.user) == [owner.user.id, guest.user.id, other.user.id])
    _ = try await fixture.signIn(1, token: 1, 3, now: now + 61_000)
    #expect(try await entries(fixture, AuditFilter(action: "login")).count == 3)
  }

  @Test("what operators do by commands is written", arguments: Backend.allCases)
  func commands(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let act = OperatorAct(.command, now: now)
    let base = fixture.base
    _ = try await base.keys.register(
      StoreFixture.key(1), receipt: [1], challenge: StoreFixture.octets(9, 16),
      challengeExpiry: StoreFixture.epoch + 300)
    let device = StoreFixture.keyID(1)
    let keys = SQLDeviceKeyStore(fixture.database, act)
    #expect(try await keys.setBanned(true, device))
    #expect(try await keys.setBanned(false, device))
    #expect(try await keys.revoke(device))
    #expect(try await keys.revoke(StoreFixture.keyID(7)) == false)
    let admin = SQLAdminKeyStore(fixture.database, act)
    #expect(try await admin.createAdminKey(name: "ops", hash: Fixture.hash(1), now: now))
    #expect(try await admin.createAdminKey(name: "ops", hash: Fixture.hash(2), now: now) == false)
    #expect(try await admin.revokeAdminKey(name: "ops"))
    #expect(try await admin.revokeAdminKey(name: "ops") == false)
    let debug = SQLDebugTokenStore(fixture.database, act)
    #expect(try await debug.createDebugToken(name: "ci", hash: [1], expiry: 9, now: 1))
    #expect(try await debug.revokeDebugToken(name: "ci"))
    #expect(
      try await SQLModelClosureStore(fixture.database, act).reopen(.init(provider: "a", name: "b")) == false)
    // Behind the line of the registration, which was the device's.
    let lines = try await entries(fixture).reversed().dropFirst()
    #expect(
      lines.map(\.action) == [
        "device_key_banned", "device_key_unbanned", "device_key_revoked", "admin_key_created",
        "admin_key_revoked", "debug_token_created", "debug_token_revoked",
      ])
    #expect(lines.prefix(3).allSatisfy { $0.origin == RequestOrigin(.command, device: device) })
    #expect(lines.dropFirst(3).map(\.reason) == ["ops", "ops", "ci", "ci"])
    #expect(lines.allSatisfy { $0.time == now && $0.origin?.actor == .command })
  }

  @Test("no line holds an address of mail, a name or a token", arguments: Backend.allCases)
  func nothingPersonal(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    var assertion = Fixture.assertion(1, token: 1)
    assertion.fullName = PersonName(given: "Ada", family: "Lovelace")
    let guest = try await fixture.signUp(1)
    let linked = try await fixture.accounts.link(Fixture.link(assertion, 2, bearer: guest.session.id)).get()
    #expect(linked.user.email == "1@example.com")
    _ = try await fixture.users.update(
      linked.user.id, UserChange(userMetadata: ["nick": "Ada"], email: "other@example.com"), by: staff,
      now: now)
    let event = AppleEvent(
      id: "jti", type: "consent-revoked", teamID: assertion.teamID, subject: assertion.subject, time: now + 5)
    _ = try await fixture.events.record([event], now: now + 6)
    _ = try await fixture.events.apply("jti", consentHolds: false, policy: AppleEventPolicy(), now: now + 7)
    let texts = try await entries(fixture).map { "\($0)" }
    #expect(texts.count == 4)
    for text in texts {
      for secret in ["@", "Ada", "Lovelace", assertion.subject] { #expect(!text.contains(secret), "\(text)") }
    }
  }
}
