import Admission
import AppAttest
import SQL

/// Challenges with a row of their own, and the secrets that all are authenticated with (RULES §1.4).
enum Challenges {
  /// Has everyone else who would consume one of these wait, on PostgreSQL, until the transaction ends.
  static func lock(_ randoms: some Sequence<[UInt8]>) -> Query {
    let numbers = randoms.map { random in random.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }
    return Query(
      "select pg_advisory_xact_lock(n) from unnest($1::bigint[]) n", [.integers(numbers.sorted())])
  }

  /// A sweep must not raise the floor and forget the row between this look and the insertion.
  static func floor(_ dialect: Dialect) -> Query {
    Query("select expiry from challenge_floor\(dialect == .postgreSQL ? " for share" : "")")
  }

  /// Fails for one that was consumed before, or changes nothing.
  static func insertion(random: [UInt8], expiry: Int64, keyID: [UInt8], unlessThere: Bool) -> Query {
    let sql = "insert into consumed_challenges (random, expiry, key_id) values ($1, $2, $3)"
    return Query(
      unlessThere ? "\(sql) on conflict (random) do nothing" : sql,
      [.blob(random), .integer(expiry), .blob(keyID)])
  }

  /// Counts a token that the key mints; changes nothing where it has minted another number by now. The key's row is
  /// locked before: two exchanges of one challenge come one after the other.
  static func mint(_ count: Int64, keyID: [UInt8]) -> Query {
    Query(
      """
      insert into token_mints (device, mints) select id, $2 + 1 from device_keys where key_id = $1
      on conflict (device) do update set mints = token_mints.mints + 1 where token_mints.mints = $2
      """, [.blob(keyID), .integer(count)])
  }

  /// Consumes one that has a row of its own; false when it was consumed before or expires at or below the floor.
  static func consume(
    random: [UInt8], expiry: Int64, keyID: [UInt8], _ transaction: Transaction
  ) async throws -> Bool {
    // An admission looks first and writes with its commit: what it has looked at must not be consumed meanwhile.
    let lock = transaction.dialect == .postgreSQL ? [Self.lock([random])] : []
    var floor = Int64.max
    try await transaction.together(lock + [Self.floor(transaction.dialect)]) { index, row in
      if index == lock.count { floor = row.int64(0) }
    }
    guard expiry > floor else { return false }
    let insertion = insertion(random: random, expiry: expiry, keyID: keyID, unlessThere: true)
    return try await transaction.execute(insertion.sql, insertion.values) > 0
  }

  /// Whether this key's registration consumed it.
  static func wasConsumed(
    random: [UInt8], by keyID: [UInt8], _ transaction: Transaction
  ) async throws -> Bool {
    try await transaction.first(
      "select 1 from consumed_challenges where random = $1 and key_id = $2",
      [.blob(random), .blob(keyID)]
    ) { _ in true } ?? false
  }

  /// Forgets what expired by `now` (seconds since 1970) and raises the floor to the last of it, so that no step of
  /// the clock revives one. Not to `now`: after a clock that ran ahead nobody would be let in until then.
  static func sweep(now: Int64, _ transaction: Transaction) async throws {
    try await transaction.execute(
      """
      update challenge_floor set expiry = (select max(expiry) from consumed_challenges where expiry <= $1)
      where expiry < (select max(expiry) from consumed_challenges where expiry <= $1)
      """, [.integer(now)])
    try await transaction.execute(
      "delete from consumed_challenges where expiry <= (select expiry from challenge_floor)")
  }

  /// The current secret, then the previous one.
  static func secrets(_ transaction: Transaction) async throws -> [ChallengeSecret] {
    try await transaction.rows(
      "select generation, secret from challenge_secrets order by generation desc limit 2"
    ) {
      ChallengeSecret(id: UInt8(truncatingIfNeeded: $0.int64(0)), secret: $0.bytes(1))
    }
  }

  /// Makes a secret the current one and forgets all but the one before it.
  static func add(_ secret: [UInt8], _ transaction: Transaction) async throws {
    // Without a gap, which counters of a database have: the two that are kept follow each other.
    try await transaction.execute(
      """
      insert into challenge_secrets (generation, secret)
      select coalesce(max(generation), 0) + 1, $1 from challenge_secrets
      """, [.blob(secret)])
    try await transaction.execute(
      """
      delete from challenge_secrets
      where generation < (select max(c.generation) from challenge_secrets c) - 1
      """)
  }
}
