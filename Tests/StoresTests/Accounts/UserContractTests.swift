import Accounts
import Admission
import Encodings
import SQL
import Stores
import Testing

@Suite("Users") struct UserContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  private func user(_ number: Int, email: String? = nil) -> User {
    User(
      id: Fixture.id(number), isAnonymous: false, email: email, appMetadata: ["role": "x", "provider": "no"],
      userMetadata: ["a": 1], createdAt: now + Int64(number), updatedAt: now)
  }

  @Test("users are made with a given id, listed newest first, and found", arguments: Backend.allCases)
  func listing(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    var made = user(1, email: "a@example.com")
    made.appMetadata = ["role": "x"]
    #expect(try await fixture.users.create(user(1, email: "a@example.com")) == .created(made))
    #expect(try await fixture.users.create(user(1)) == .idTaken)
    #expect(try await fixture.users.create(user(2, email: "a@example.com")) == .emailTaken)
    for number in 2...5 { #expect(try await fixture.users.create(user(number)) != .idTaken) }
    let page = try await fixture.users.users(offset: 1, limit: 2)
    #expect(page.total == 5)
    #expect(page.users.map(\.id) == [Fixture.id(4), Fixture.id(3)])
    #expect(try await fixture.users.users(offset: 9, limit: 2).users.isEmpty)
    #expect(try await fixture.users.users(offset: -1, limit: -1).users.isEmpty)
    #expect(try await fixture.users.user(Fixture.id(1)) == made)
    #expect(try await fixture.users.user(Fixture.id(9)) == nil)
  }

  @Test(
    "RULES §4.2: an id that a tombstone has is given to nobody, nor is that of one who goes just now",
    arguments: Backend.allCases)
  func deletedID(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...6 {
      _ = try await fixture.users.create(user(number))
      async let gone = fixture.delete(Fixture.id(number))
      async let again = fixture.users.create(user(number))
      let (isGone, outcome) = try await (gone, again)
      #expect(isGone)
      #expect(outcome == .idTaken || outcome == .idDeleted)
      #expect(try await fixture.users.create(user(number)) == .idDeleted)
      #expect(try await fixture.users.user(Fixture.id(number)) == nil)
    }
    #expect(try await fixture.users.create(user(7)) != .idDeleted)
  }

  @Test("RULES §3.9: metadata is merged, and refused when it is too large", arguments: Backend.allCases)
  func metadata(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.users.create(user(1))
    func update(_ change: UserChange) async throws -> Result<User, UserChangeRefusal>? {
      try await fixture.users.update(Fixture.id(1), change, now: now + 9)
    }
    let changed = try await update(
      UserChange(userMetadata: ["a": nil, "ä\u{0}": ["\"\\": []]], appMetadata: ["plan": "pro"]))
    let after = try #require(try changed?.get())
    #expect(after.userMetadata == ["ä\u{0}": ["\"\\": []]])
    #expect(after.appMetadata == ["role": "x", "plan": "pro"])
    #expect(after.updatedAt == now + 9)
    #expect(try await fixture.users.user(Fixture.id(1)) == after)
    let long: JSONValue = .string(String(repeating: "x", count: 2_040))
    #expect(
      try await update(UserChange(userMetadata: ["b": long])) == .failure(.metadataTooLarge(limit: 2_048)))
    #expect(
      try await update(UserChange(appMetadata: ["b": .string(String(repeating: "x", count: 4_000))]))
        == .failure(.metadataTooLarge(limit: 4_096)))
    #expect(try await fixture.users.user(Fixture.id(1)) == after)
    #expect(try await fixture.users.update(Fixture.id(2), UserChange(), now: now) == nil)
    _ = try await fixture.users.create(user(3, email: "c@example.com"))
    #expect(try await update(UserChange(email: "c@example.com")) == .failure(.emailTaken))
    let typed = try await update(UserChange(email: "e@example.com"))?.get()
    #expect(typed?.email == "e@example.com" && typed?.emailConfirmedAt == nil)
    let mailed = try await update(UserChange(email: "d@example.com", confirmsEmail: true))?.get()
    #expect(mailed?.email == "d@example.com")
    #expect(mailed?.emailConfirmedAt == now + 9)
  }

  @Test(
    "deleting takes everything that hangs on the user, and a device's token for them",
    arguments: Backend.allCases)
  func deletion(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    let other = try await fixture.signIn(2, token: 2, 2).get()
    for subject in 1...2 {
      try await fixture.tokens.keep(
        SealedAppleToken(
          teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: "c", sealingKey: "k",
          sealed: [1], nextCheck: now), now: now)
    }
    let guest = try await fixture.signUp(3)
    #expect(try await fixture.link(1, token: 3, 4, bearer: guest.session.id).refusal == .linkedToAnotherUser)
    try await fixture.base.registerMany(1)
    try await fixture.database.write { transaction in
      for (hash, user) in [([UInt8(1)], open.user.id), ([2], other.user.id)] {
        _ = try await transaction.execute(
          """
          insert into session_tokens (hash, device, user_id, routes, expiry)
          select $1, id, $2, 'r', 1 from device_keys
          """, [.blob(hash), .text(user.description)])
      }
    }
    #expect(try await fixture.delete(open.user.id, now: now))
    #expect(try await fixture.delete(open.user.id, now: now) == false)
    #expect(try await fixture.users.user(open.user.id) == nil)
    #expect(try await fixture.accounts.session(open.session.id, now: now) == nil)
    #expect(try await fixture.refresh(open.session.id, 0).refusal == .notFound)
    #expect(try await fixture.count("users") == 2)
    for table in ["identities", "apple_tokens", "session_tokens"] {
      #expect(try await fixture.count(table) == 1)
    }
    #expect(try await fixture.count("switch_tickets") == 0)
    // RULES §2.1: the token stays used.
    #expect(try await fixture.signIn(1, token: 1, 5).refusal == .tokenUsed)
    let again = try await fixture.signIn(1, token: 4, 6).get()
    #expect(again.user.id == Fixture.id(6))
    #expect(again.user.createdAt == now)
    #expect(try await fixture.users.user(other.user.id) == other.user)
    // RULES §1.8: a ban ends the device's token as well.
    _ = try await fixture.users.update(other.user.id, UserChange(bannedUntil: now + 1), now: now)
    #expect(try await fixture.count("session_tokens") == 0)
    #expect(try await fixture.audit().contains("user_deleted"))
  }
}
