import Accounts
import BramleyTesting
import Encodings
import SQL
import Stores
import System
import Testing

@Suite("Apple's tokens, keys and flows") struct AppleTokenStoreTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  private func token(
    _ subject: Int, client: String = "c", sealed: [UInt8] = [1], check: Int64 = AccountFixture.now
  ) -> SealedAppleToken {
    SealedAppleToken(
      teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: client, sealingKey: "k",
      sealed: sealed, nextCheck: check)
  }

  @Test("one token an identity and client is kept, the newest", arguments: Backend.allCases)
  func keep(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let user = try await fixture.signIn(1, token: 1, 1).get().user.id
    try await fixture.tokens.keep(token(1), now: now)
    try await fixture.tokens.keep(token(1, client: "d", sealed: [0, 255]), now: now)
    try await fixture.tokens.keep(token(1, sealed: [2]), now: now)
    // Nobody's: not kept.
    try await fixture.tokens.keep(token(2), now: now)
    let kept = try await fixture.tokens.tokens(of: user)
    #expect(kept.map(\.clientID) == ["d", "c"])
    #expect(kept.map(\.sealed) == [[0, 255], [2]])
    #expect(kept.allSatisfy { $0.teamID == "TEAM000001" && $0.subject == "000001.sub" && $0.id > 0 })
    #expect(try await fixture.count("apple_tokens") == 2)
  }

  @Test(
    "what is due comes once, the longest due first; invalid_grant or two invalid_request mark the identity",
    arguments: Backend.allCases)
  func checks(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    func status(_ subject: Int) async throws -> Identity.Status? {
      try await fixture.users.user(Fixture.id(subject))?.identities.first?.status
    }
    for subject in 1...4 {
      _ = try await fixture.signIn(subject, token: subject, subject).get()
      try await fixture.tokens.keep(token(subject, check: now - Int64(subject)), now: now - 100)
    }
    try await fixture.tokens.keep(token(1, client: "later", check: now + 1), now: now - 100)
    let due = try await fixture.tokens.due(now: now, retryAt: now + 50, limit: 3)
    #expect(due.map(\.subject) == ["000004.sub", "000003.sub", "000002.sub"])
    #expect(due.allSatisfy { $0.nextCheck == now + 50 })
    #expect(
      try await fixture.tokens.due(now: now, retryAt: now + 50, limit: 9).map(\.subject) == ["000001.sub"])
    #expect(try await fixture.tokens.due(now: now, retryAt: now + 50, limit: 9).isEmpty)
    #expect(try await fixture.tokens.due(now: now + 50, retryAt: now + 60, limit: 9).count == 5)

    let next = now + 86_400_000
    try await fixture.tokens.checked(due[0].id, .invalidGrant, nextCheck: next, now: now)
    #expect(try await status(4) == .revoked)
    for verdict in [AppleTokenVerdict.invalidRequest, .unknown, .valid, .invalidRequest, .unknown] {
      try await fixture.tokens.checked(due[1].id, verdict, nextCheck: next, now: now)
      #expect(try await status(3) == .live)
    }
    try await fixture.tokens.checked(due[1].id, .invalidRequest, nextCheck: next, now: now)
    #expect(try await status(3) == .revoked)
    for verdict in [AppleTokenVerdict.valid, .unknown] {
      try await fixture.tokens.checked(due[2].id, verdict, nextCheck: next, now: now)
      #expect(try await status(2) == .live)
    }
    // A verdict on a token that was replaced meanwhile says nothing of the new one.
    try await fixture.tokens.keep(token(2, sealed: [9]), now: now)
    try await fixture.tokens.checked(due[2].id, .invalidGrant, nextCheck: next, now: now)
    #expect(try await status(2) == .live)
    #expect(try await fixture.signIn(4, token: 10, 10).get().user.identities.first?.status == .live)
  }

  @Test("an identity is marked once: who signs in again stays live", arguments: Backend.allCases)
  func markedOnce(backend: Backend) async throws {
    for verdict in [AppleTokenVerdict.invalidRequest, .invalidGrant] {
      let fixture = try await Fixture(backend)
      _ = try await fixture.signIn(1, token: 1, 1).get()
      try await fixture.tokens.keep(token(1), now: now)
      let id = try #require(try await fixture.tokens.due(now: now, retryAt: now + 1, limit: 1).first?.id)
      for _ in 0..<3 { try await fixture.tokens.checked(id, verdict, nextCheck: now, now: now) }
      #expect(try await fixture.audit().count { $0.hasPrefix("identity_revoked") } == 1)
      // By a client that sends no code: the dead token stays.
      _ = try await fixture.signIn(1, token: 2, 2).get()
      try await fixture.tokens.checked(id, verdict, nextCheck: now, now: now)
      #expect(try await fixture.users.user(Fixture.id(1))?.identities.first?.status == .live)
    }
  }

  @Test("what Apple says of a token that a sign-in is replacing marks nobody", TestPostgres.required)
  func replacedMeanwhile() async throws {
    let fixture = try await Fixture(.postgreSQL)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.tokens.keep(token(1), now: now)
    let id = try #require(try await fixture.tokens.due(now: now, retryAt: now + 1, limit: 1).first?.id)
    let isLocked = Locked(false)
    async let replacing: Void = fixture.database.write { transaction in
      try await transaction.execute("set transaction isolation level read committed")
      try await transaction.execute("update identities set status = 0")
      isLocked.withLock { $0 = true }
      // Until the verdict waits for the identity.
      let waiting =
        "select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
      while try await transaction.rows(waiting, [], { _ in true }).isEmpty {
        try await transaction.execute("select pg_sleep(0.01)")
      }
      try await transaction.execute("delete from apple_tokens")
    }
    while !isLocked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
    try await fixture.tokens.checked(id, .invalidGrant, nextCheck: now, now: now)
    try await replacing
    #expect(try await fixture.users.user(Fixture.id(1))?.identities.first?.status == .live)
  }

  @Test("a sweep forgets what expired, a while after, and nothing else", arguments: Backend.allCases)
  func sweep(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let guest = try await fixture.signUp(2)
    _ = try await fixture.link(1, token: 2, 3, bearer: guest.session.id)
    try await fixture.tokens.add(
      AppleChallenge(hash: Fixture.hash(1), purpose: .delete, expiresAt: now + 600_000), now: now)
    let tables = ["apple_challenges", "switch_tickets", "used_identity_tokens"]
    func counts() async throws -> [Int64] {
      var counts: [Int64] = []
      for table in tables { counts.append(try await fixture.count(table)) }
      return counts
    }
    try await fixture.tokens.sweep(now: now + 300_000)
    #expect(try await counts() == [1, 1, 2])
    try await fixture.tokens.sweep(now: now + 800_000)
    #expect(try await counts() == [0, 0, 2])
    try await fixture.tokens.sweep(now: now + 86_398_000)
    #expect(try await counts() == [0, 0, 2])
    // More than one piece of them.
    try await fixture.database.write { transaction in
      for number in 0..<2_100 {
        try transaction.enqueue(
          "insert into apple_challenges (hash, purpose, expires_at) values ($1, 'sign_in', $2)",
          [.blob(Fixture.hash(number)), .integer(now)])
      }
    }
    try await fixture.tokens.sweep(now: now + 86_398_000 + 180_000)
    #expect(try await counts() == [0, 0, 0])
  }

  @Test(
    "RULES §3.1: a code stays used though the token of its flow expires before it",
    arguments: Backend.allCases)
  func expiring(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    var assertion = Fixture.assertion(1, token: 1)
    assertion.expiresAt = now + 1_000
    _ = try await fixture.accounts.signIn(Fixture.signIn(assertion, 1)).get()
    let later = now + 299_000
    try await fixture.tokens.sweep(now: later)
    let again = try await fixture.accounts.signIn(Fixture.signIn(assertion, 2, now: later))
    #expect(again.refusal == .tokenUsed)
  }

  @Test(
    "RULES §3.1: a flow is answered once, and its code gives the identity while it holds",
    arguments: Backend.allCases)
  func webFlow(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let flows = SQLWebFlowStore(fixture.database)
    let flow = WebFlow(
      id: Fixture.id(1), stateHash: Fixture.hash(1), browserHash: Fixture.hash(2), nonce: "n",
      clientID: "c", redirectTo: "app://x", codeChallenge: "cc", isS256: true, linking: Fixture.id(3),
      expiresAt: now + 1_000)
    try await flows.begin(flow)
    let plain = WebFlow(
      id: Fixture.id(2), stateHash: Fixture.hash(9), nonce: "n", clientID: "c", redirectTo: "r",
      codeChallenge: nil, isS256: false, expiresAt: now + 1_000)
    try await flows.begin(plain)
    var assertion = Fixture.assertion(1, token: 1)
    // Before it was answered, nothing completes it.
    try await flows.complete(
      flow.id, with: assertion, token: nil, codeHash: Fixture.hash(5), expiresAt: now + 5_000)
    #expect(try await flows.peek(Fixture.hash(5)) == nil)
    #expect(try await flows.answer(Fixture.hash(4), now: now) == nil)
    #expect(try await flows.answer(Fixture.hash(1), now: now + 1_000) == nil)
    #expect(try await flows.answer(Fixture.hash(1), now: now + 999) == flow)
    #expect(try await flows.answer(Fixture.hash(1), now: now) == nil)
    #expect(try await flows.answer(Fixture.hash(9), now: now) == plain)
    for full in [true, false] {
      assertion = Fixture.assertion(1, token: full ? 1 : 2, email: full ? "ä\"@x" : .some(nil))
      if full {
        assertion.transferSubject = "t"
        assertion.isPrivateEmail = false
        assertion.fullName = PersonName(given: "Ä\u{0}", family: nil)
        assertion.challengeHash = Fixture.hash(8)
      } else {
        assertion.authTime = nil
        assertion.isEmailVerified = false
      }
      let id = full ? flow.id : plain.id
      let code = Fixture.hash(full ? 5 : 6)
      let token = SealedAppleToken(
        teamID: assertion.teamID, subject: assertion.subject, clientID: assertion.clientID,
        sealingKey: "k", sealed: [0, 255], nextCheck: now + 1)
      try await flows.complete(
        id, with: assertion, token: full ? token : nil, codeHash: code, expiresAt: now + 5_000)
      // The first answer stays.
      try await flows.complete(
        id, with: Fixture.assertion(2, token: 3), token: nil, codeHash: Fixture.hash(7),
        expiresAt: now + 5_000)
      for _ in 0..<2 {
        let found = try await flows.peek(code)
        #expect(found?.assertion == assertion)
        #expect(found?.token == (full ? token : nil))
        #expect(found?.flow.id == id)
        #expect(found?.flow.linking == (full ? Fixture.id(3) : nil))
      }
      let found = try #require(try await flows.peek(code))
      #expect(!found.flow.isExpired(at: now + 4_999) && found.flow.isExpired(at: now + 5_000))
    }
    #expect(try await flows.peek(Fixture.hash(7)) == nil)
    try await fixture.tokens.sweep(now: now + 200_000)
    #expect(try await fixture.count("web_flows") == 0)
  }

  @Test("every node has the same signing keys and refresh secrets", arguments: Backend.allCases)
  func sharedSecrets(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let store = SQLSigningKeyStore(fixture.database)
    func key(_ number: Int, from: Int64 = AccountFixture.now) -> StoredSigningKey {
      StoredSigningKey(
        kid: "k\(number)", sealingKey: number == 0 ? nil : "s", material: Fixture.hash(number),
        activeFrom: from)
    }
    let keys = try await withThrowingTaskGroup(of: [StoredSigningKey].self) { group in
      for number in 0..<20 {
        group.addTask { try await store.signingKeys(fresh: key(number), now: Fixture.now) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(keys.allSatisfy { $0 == keys[0] && $0.count == 1 })
    let secrets = try await withThrowingTaskGroup(of: [StoredRefreshSecret].self) { group in
      for number in 0..<20 {
        group.addTask {
          try await store.refreshSecrets(
            fresh: StoredRefreshSecret(sealingKey: "s", material: Fixture.hash(number)))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(secrets.allSatisfy { $0 == secrets[0] && $0.map(\.sealingKey) == ["s"] && $0.map(\.id) == [1] })

    let rotated = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 100..<110 {
        group.addTask {
          try await store.rotate(
            to: key(number, from: Fixture.now + 600), after: keys[0][0].kid, keepUntil: Fixture.now + 900,
            now: Fixture.now)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(rotated.count { $0 } == 1)
    let both = try await store.signingKeys(fresh: key(99), now: now + 899)
    #expect(both.map(\.publishedUntil) == [now + 900, nil])
    #expect(both.first?.kid == keys[0][0].kid)
    #expect(try await store.signingKeys(fresh: key(99), now: now + 900) == [both[1]])
    #expect(
      try await store.rotate(
        to: key(200, from: now + 2_000), after: both[1].kid, keepUntil: now + 3_000, now: now + 1_000))
    #expect(try await fixture.count("signing_keys") == 2)
  }

  @Test(
    "RULES §6.1: operators' keys are found by their hash until they are revoked", arguments: Backend.allCases)
  func adminKeys(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let store = SQLAdminKeyStore(fixture.database)
    #expect(try await store.createAdminKey(name: "b", hash: Fixture.hash(1), now: now))
    #expect(try await store.createAdminKey(name: "b", hash: Fixture.hash(2), now: now) == false)
    #expect(try await store.createAdminKey(name: "a", hash: Fixture.hash(3), now: now + 1))
    #expect(
      try await store.adminKeys() == [
        ListedAdminKey(name: "a", createdAt: now + 1), ListedAdminKey(name: "b", createdAt: now),
      ])
    #expect(try await store.adminKey(hash: Fixture.hash(1)) == "b")
    #expect(try await store.adminKey(hash: Fixture.hash(2)) == nil)
    #expect(try await store.revokeAdminKey(name: "b"))
    #expect(try await store.revokeAdminKey(name: "b") == false)
    #expect(try await store.adminKey(hash: Fixture.hash(1)) == nil)
  }
}
