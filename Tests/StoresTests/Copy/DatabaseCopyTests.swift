import Accounts
import Admission
import AppAttest
import BramleyTesting
import Foundation
import SQL
import Stores
import Testing
import UserData

@Suite("Copying to PostgreSQL", TestPostgres.required) struct DatabaseCopyTests {
  private struct Stop: Error {}

  /// A schema of its own on the server of the tests.
  private func target() throws -> Database {
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.schema = "copy_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    settings.connections = 2
    settings.waitTimeout = 60_000
    settings.statementTimeout = 60_000
    return try Database(.postgreSQL(settings))
  }

  /// A database in which something of everything was done.
  private func source(keys: Int = 60) async throws -> StoreFixture {
    let fixture = try await StoreFixture(.disk)
    try await fixture.registerMany(keys)
    _ = try await fixture.keys.challengeSecrets(fresh: [UInt8](repeating: 200, count: 32))
    _ = try await fixture.debugTokens.createDebugToken(name: "ä“'", hash: [0, 255, 92], expiry: 9, now: 8)
    let charges = [Requests.daily(100), Requests.money(40, of: 1 << 40), Requests.running(100)]
    for number in 1...80 {
      let request = Requests.assertion(
        number % keys, counter: UInt32(number), id: number, charges: charges,
        challenge: number.isMultiple(of: 3)
          ? ConsumedChallenge.row(random: StoreFixture.octets(number, 16), expiry: StoreFixture.epoch + 300)
          : nil
      )
      #expect(try await fixture.ledger.admit(request).isAdmitted)
      guard number.isMultiple(of: 2) else { continue }
      let usage = UsageRecord(
        keyID: nil, userID: nil, route: "r", provider: "anthropic", model: "m", status: 200, cost: 7,
        estimated: false, startedAt: Requests.now)
      try await fixture.ledger.settle(
        Settlement(id: request.id, outcome: .used(cost: 7), now: Requests.now, usage: usage))
    }
    _ = try await SQLJobStore(fixture.database).claim(
      "sweep", node: "n", interval: 60_000, lease: 90_000, abandoned: nil, now: Requests.now)
    try await fixture.database.setMeta("used_by_dev", "yes")
    try await Self.accounts(AccountFixture(base: fixture))
    return fixture
  }

  /// Something in every table of accounts.
  private static func accounts(_ fixture: AccountFixture) async throws {
    for number in 1...9 {
      let user = try await fixture.signIn(number, token: number, number).get()
      let guest = try await fixture.signUp(100 + number)
      _ = try await fixture.link(number, token: 200 + number, 200 + number, bearer: guest.session.id)
      _ = try await fixture.link(
        300 + number, token: 300 + number, 300 + number, bearer: guest.session.id)
      try await fixture.tokens.add(
        AppleChallenge(
          hash: AccountFixture.hash(number), purpose: .link, session: user.session.id, expiresAt: 9), now: 1)
      try await fixture.tokens.keep(
        SealedAppleToken(
          teamID: "TEAM000001", subject: "00000\(number).sub", clientID: "c", sealingKey: "k", sealed: [7],
          nextCheck: 5), now: 1)
      let object = StoredObject(
        id: AccountFixture.id(90_000 + number), user: user.user.id, bucket: "functions",
        path: try #require(ObjectPath("f/\(number).png")), contentType: .png, size: 0, createdAt: 1)
      let refusal = try await SQLObjectStore(fixture.database).put(
        [ObjectDraft(object, content: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* number) })],
        within: ObjectLimits(count: 1, bytes: 100_000))
      #expect(refusal == nil)
      _ = try await fixture.events.record(
        [AppleEvent(id: "\(number)", type: "email-disabled", teamID: "T", subject: "s", time: 3)], now: 4)
      _ = try await SQLAdminKeyStore(fixture.database).createAdminKey(
        name: "\(number)", hash: AccountFixture.hash(number), now: 1)
      try await SQLWebFlowStore(fixture.database).begin(
        WebFlow(
          id: AccountFixture.id(number), stateHash: AccountFixture.hash(number), nonce: "n", clientID: "c",
          redirectTo: "r", codeChallenge: nil, isS256: true, expiresAt: 9))
    }
    let keys = SQLSigningKeyStore(fixture.database)
    _ = try await keys.signingKeys(
      fresh: StoredSigningKey(kid: "k", material: [1], activeFrom: 1), now: 1)
    _ = try await keys.refreshSecrets(fresh: StoredRefreshSecret(material: [1, 2, 3]))
  }

  private func run(
    _ from: Database, _ to: Database, id: String = "one",
    progress: (String, Int64) throws -> Void = { _, _ in }
  ) async throws -> [DatabaseCopy.Count] {
    try await DatabaseCopy(from: from, to: to, pageSize: 7).run(
      id: id, place: "there", now: StoreFixture.epoch, progress: progress)
  }

  @Test("RULES §1.6: everything is there afterwards, with the mark of dev; new keys count on")
  func whole() async throws {
    let fixture = try await source()
    let target = try target()
    defer { target.close() }
    let counts = try await run(fixture.database, target)
    let rows = Dictionary(uniqueKeysWithValues: counts.map { ($0.table, $0.rows) })
    #expect(rows["device_keys"] == 60)
    #expect(rows["usage"] == 40)
    #expect(rows["reservations"] == 40)
    #expect(rows["jobs"] == 1)
    #expect(rows["challenge_floor"] == 1)
    #expect(rows["lines"] ?? 0 >= 180)
    #expect(rows.keys.contains("schema_versions") == false)
    #expect(try await target.meta("used_by_dev") == "yes")
    #expect(try await target.meta(DatabaseCopy.Mark.incomplete) == nil)
    #expect(try await fixture.database.meta(DatabaseCopy.Mark.moved) == "there")
    let sums: @Sendable (Transaction) async throws -> [String]? = { transaction in
      try await transaction.first(
        """
        select cast(sum(used) as text), cast(sum(held) as text), (select cast(sum(cost) as text) from usage)
        from lines
        """
      ) { [$0.string(0), $0.string(1), $0.string(2)] }
    }
    #expect(try await fixture.database.read(sums) == target.read(sums))
    // The stores go on there: an old key is found, and a new one gets a number of its own.
    let keys = SQLDeviceKeyStore(target)
    #expect(try await keys.key(StoreFixture.keyID(3)) == StoreFixture.key(3))
    let created = try await keys.register(
      StoreFixture.key(1_000), receipt: [1], challenge: StoreFixture.octets(77_777, 16),
      challengeExpiry: StoreFixture.epoch + 300)
    #expect(created == .created)
    let tables = [
      "users", "identities", "sessions", "used_identity_tokens", "apple_challenges", "switch_tickets",
      "apple_tokens", "apple_events", "web_flows", "signing_keys", "refresh_secrets", "audit_log",
      "admin_keys", "objects", "object_pieces",
    ]
    for table in tables { #expect(rows[table] ?? 0 > 0, "\(table)") }
    #expect(rows["users"] == 18)
    let user = AccountFixture.id(3)
    #expect(
      try await SQLUserStore(target).user(user) == SQLUserStore(fixture.database).user(user))
    let refreshed = try await SQLAccountStore(target).refresh(
      Refresh(
        session: AccountFixture.id(20_003), counter: 0, binding: .off, policy: SessionPolicy(),
        now: AccountFixture.now))
    #expect(refreshed.session?.user.id == user)
    await #expect(throws: DatabaseCopy.Refusal.done) { try await run(fixture.database, target) }
  }

  @Test("ended after every page, it goes on where it was, and nothing is there twice")
  func resumed() async throws {
    let fixture = try await source(keys: 20)
    let target = try target()
    defer { target.close() }
    var attempts = 0
    var pages: [String] = []
    var counts: [DatabaseCopy.Count]?
    while counts == nil, attempts < 300 {
      attempts += 1
      do {
        counts = try await run(fixture.database, target, id: "attempt \(attempts)") { table, rows in
          pages.append("\(table) \(rows)")
          throw Stop()
        }
      } catch is Stop {
        #expect(try await target.meta(DatabaseCopy.Mark.incomplete) == "yes")
      }
    }
    let done = try #require(counts)
    #expect(attempts > 10)
    // No page came twice, so none was copied twice.
    #expect(Set(pages).count == pages.count)
    let fresh = try self.target()
    defer { fresh.close() }
    _ = try await DatabaseCopy.abandon(fixture.database)
    #expect(try await run(fixture.database, fresh, id: "again") == done)
  }

  @Test("a target with rows, of another database or with a changed row is refused")
  func refused() async throws {
    let fixture = try await source(keys: 10)
    let used = try target()
    defer { used.close() }
    try await Schema.migrate(used, now: 1)
    try await used.write {
      _ = try await $0.execute(
        "insert into debug_tokens (name, hash, expiry, created_at) values ('x', $1, 1, 1)", [.blob([1])])
    }
    await #expect(throws: DatabaseCopy.Refusal.targetNotEmpty(table: "debug_tokens")) {
      try await run(fixture.database, used)
    }

    let target = try target()
    defer { target.close() }
    await #expect(throws: Stop.self) {
      try await run(fixture.database, target) { table, _ in if table == "usage" { throw Stop() } }
    }
    let other = try await source(keys: 2)
    await #expect(throws: DatabaseCopy.Refusal.otherSource) {
      try await run(other.database, target, id: "other")
    }
    try await target.write { _ = try await $0.execute("update lines set used = used + 1 where held > 0") }
    await #expect(throws: DatabaseCopy.Refusal.differs(table: "lines")) {
      try await run(fixture.database, target)
    }
    #expect(try await target.meta(DatabaseCopy.Mark.incomplete) == "yes")
    withExtendedLifetime(fixture) {}
  }

  @Test("a source of an older schema is refused")
  func older() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.database.write {
      _ = try await $0.execute(
        "delete from schema_versions where version = (select max(version) from schema_versions)")
    }
    let target = try target()
    defer { target.close() }
    await #expect(throws: DatabaseCopy.Refusal.sourceNotMigrated) { try await run(fixture.database, target) }
  }
}
