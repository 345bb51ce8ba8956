import Accounts
import Admission
import AppAttest
import BramleyTesting
import Encodings
import Foundation
import SQL
import Stores
import Testing

/// Databases that an older version has filled.
@Suite("Databases of older versions") struct OlderSchemaTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  private func open(_ backend: Backend, _ directory: TemporaryFolder) throws -> Database {
    switch backend {
    case .memory: try Database(.memory)
    case .disk: try Database(.file(directory.path + "/bramley.db"))
    case .postgreSQL: try Database(.postgreSQL(StoreFixture.postgres(try #require(TestPostgres.shared))))
    }
  }

  /// As the first version with accounts wrote them: a person with a session, a guest, what Apple told, and the log.
  private func fill(_ database: Database) async throws {
    let rows: [(String, [SQLValue])] = [
      (
        """
        insert into users (id, is_anonymous, email, app_metadata, user_metadata, created_at, updated_at)
        values ($1, 0, 'ada@example.com', '{"plan":"pro"}', '{"theme":"dark"}', $2, $2)
        """, [SQLValue.uuid(Fixture.id(1).octets), .integer(now)]
      ),
      (
        """
        insert into users (id, is_anonymous, app_metadata, user_metadata, created_at, updated_at)
        values ($1, 1, '{}', '{}', $2, $2)
        """, [SQLValue.uuid(Fixture.id(2).octets), .integer(now)]
      ),
      (
        """
        insert into identities (id, user_id, provider, team_id, subject, status, consent_at, data, created_at,
          updated_at, last_sign_in_at) values ($1, $2, 'apple', 'TEAM000001', '000001.sub', 0, $3, '{}', $3, $3, $3)
        """, [SQLValue.uuid(Fixture.id(3).octets), .uuid(Fixture.id(1).octets), .integer(now)]
      ),
      (
        """
        insert into sessions (id, user_id, created_at, refreshed_at, counter, auth_time, methods)
        values ($1, $2, $3, $3, 7, 1, 'oauth 1')
        """, [SQLValue.uuid(Fixture.id(4).octets), .uuid(Fixture.id(1).octets), .integer(now)]
      ),
      ("insert into refresh_secrets (generation, secret) values (1, $1)", [.blob(Fixture.hash(1))]),
      (
        """
        insert into apple_events (jti, type, team_id, subject, event_time, received_at)
        values ('j', 'consent-revoked', 'TEAM000001', '000009.sub', $1, $1)
        """, [.integer(now)]
      ),
      ("insert into audit_log (time, action, reason) values ($1, 'login', 'apple')", [.integer(now)]),
      (
        """
        insert into admin_keys (name, hash, created_at) values ('ops', $1, $2)
        """, [.blob(Fixture.hash(2)), .integer(now)]
      ),
    ]
    try await database.write { transaction in
      for (sql, values) in rows { try await transaction.execute(sql, values) }
    }
  }

  @Test("what the first accounts had is there after every step since", arguments: Backend.allCases)
  func accounts(backend: Backend) async throws {
    let directory = try TemporaryFolder()
    let database = try open(backend, directory)
    defer { database.close() }
    _ = try await Migrator(Array(Schema.migrations.prefix(4))).migrate(database, now: 1)
    try await fill(database)
    for version in 5...Schema.migrations.count {
      _ = try await Migrator(Array(Schema.migrations.prefix(version))).migrate(database, now: 1)
    }
    let accounts = SQLAccountStore(database)
    let refresh = Refresh(
      session: Fixture.id(4), counter: 7, binding: .prefer, policy: SessionPolicy(), now: now + 1)
    guard case .refreshed(let open) = try await accounts.refresh(refresh) else {
      Issue.record("the session was lost")
      return
    }
    #expect(open.session.counter == 8)
    #expect(open.user.id == Fixture.id(1) && open.user.identities.map(\.subject) == ["000001.sub"])
    #expect(open.user.userMetadata == ["theme": "dark"])
    let again = try await accounts.signIn(Fixture.signIn(Fixture.assertion(1, token: 1), 9)).get()
    #expect(again.user.id == Fixture.id(1))
    // What Apple told before is consulted, and waits to be applied.
    let refused = try await accounts.signIn(Fixture.signIn(Fixture.assertion(9, token: 2), 10))
    #expect(refused.refusal == .consentRevoked)
    let events = SQLAppleEventStore(database)
    #expect(try await events.pending(now: now, retryAt: now + 1, limit: 9).map(\.event.id) == ["j"])
    let keys = SQLSigningKeyStore(database)
    let secrets = try await keys.refreshSecrets(fresh: StoredRefreshSecret(material: Fixture.hash(3)))
    #expect(secrets == [StoredRefreshSecret(id: 1, material: Fixture.hash(1))])
    #expect(try await SQLAdminKeyStore(database).adminKey(hash: Fixture.hash(2)) == "ops")
    let lines = try await SQLAuditStore(database).audit(AuditFilter(), before: nil, limit: 99)
    #expect(lines.last?.action == "login" && lines.last?.result == .done && lines.last?.origin == nil)
  }

  @Test(
    "RULES §1.9: the keys of users who were banned before keys knew of it are refused",
    arguments: Backend.allCases)
  func banned(backend: Backend) async throws {
    let directory = try TemporaryFolder()
    let database = try open(backend, directory)
    defer { database.close() }
    _ = try await Migrator(Array(Schema.migrations.prefix(17))).migrate(database, now: 1)
    let time = now
    // One is banned, the ban of one is over, and one was never banned.
    let bans: [Int64?] = [.max, time - 1, nil]
    for (key, until) in bans.enumerated() {
      let user = Fixture.id(0xab_cdef_0000 + key)
      let registered = try await SQLDeviceKeyStore(database).register(
        StoreFixture.key(key), receipt: [1], challenge: StoreFixture.octets(key + 1_000_000, 16),
        challengeExpiry: StoreFixture.epoch + 300)
      #expect(registered == .created)
      try await database.write { transaction in
        try await transaction.execute(
          """
          insert into users (id, is_anonymous, app_metadata, user_metadata, created_at, updated_at, banned_until)
          values ($1, 1, '{}', '{}', $2, $2, $3)
          """, [.uuid(user.octets), .integer(time), SQLValue(until)])
        try await transaction.execute(
          """
          update device_states set user_id = $2
          where device = (select id from device_keys where key_id = $1)
          """, [.blob(StoreFixture.keyID(key)), .text(user.description)])
      }
    }
    try await Schema.migrate(database, now: 1)
    let ledger = SQLAdmissionLedger(database, clock: .caller)
    for (key, refusal) in [AdmissionRefusal.userBanned, nil, nil].enumerated() {
      let request = Requests.assertion(key, counter: 1, id: key, charges: [], now: time)
      #expect(try await ledger.admit(request).refusal == refusal)
    }
  }
}

/// Gone after the test.
private final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "bramley-older-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
