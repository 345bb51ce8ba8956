import Admission
import AppAttest
import SQL

/// Challenges with a row of their own, and the secrets that all are authenticated with (RULES §1.4).
enum Challenges {
  /// Consumes it; false when it was consumed before or expires at or below the floor.
  static func consume(
    _ challenge: ConsumedChallenge, keyID: [UInt8], _ transaction: Transaction
  ) throws -> Bool {
    switch challenge {
    case .row(let random, let expiry):
      return try consume(random: random, expiry: expiry, keyID: keyID, transaction)
    case .mint(let count):
      // The key's row is locked already: two exchanges of one challenge come one after the other.
      return try transaction.execute(
        """
        insert into token_mints (device, mints) select id, $2 + 1 from device_keys where key_id = $1
        on conflict (device) do update set mints = token_mints.mints + 1 where token_mints.mints = $2
        """, [.blob(keyID), .integer(count)]) > 0
    }
  }

  /// Consumes one that has a row of its own.
  static func consume(
    random: [UInt8], expiry: Int64, keyID: [UInt8], _ transaction: Transaction
  ) throws -> Bool {
    // A sweep must not raise the floor and forget the row between this look and the insertion.
    let lock = transaction.dialect == .postgreSQL ? " for share" : ""
    let floor = try transaction.first("select expiry from challenge_floor\(lock)") { $0.int64(0) } ?? .max
    guard expiry > floor else { return false }
    return try transaction.execute(
      "insert into consumed_challenges (random, expiry, key_id) values ($1, $2, $3) on conflict (random) do nothing",
      [.blob(random), .integer(expiry), .blob(keyID)]) > 0
  }

  /// Whether this key's registration consumed it.
  static func wasConsumed(
    random: [UInt8], by keyID: [UInt8], _ transaction: Transaction
  ) throws -> Bool {
    try transaction.first(
      "select 1 from consumed_challenges where random = $1 and key_id = $2",
      [.blob(random), .blob(keyID)]
    ) { _ in true } ?? false
  }

  /// Forgets what expired by `now` (seconds since 1970) and raises the floor to the last of it, so that no step of
  /// the clock revives one. Not to `now`: after a clock that ran ahead nobody would be let in until then.
  static func sweep(now: Int64, _ transaction: Transaction) throws {
    try transaction.execute(
      """
      update challenge_floor set expiry = (select max(expiry) from consumed_challenges where expiry <= $1)
      where expiry < (select max(expiry) from consumed_challenges where expiry <= $1)
      """, [.integer(now)])
    try transaction.execute(
      "delete from consumed_challenges where expiry <= (select expiry from challenge_floor)")
  }

  /// The current secret, then the previous one.
  static func secrets(_ transaction: Transaction) throws -> [ChallengeSecret] {
    try transaction.rows("select generation, secret from challenge_secrets order by generation desc limit 2")
    {
      ChallengeSecret(id: UInt8(truncatingIfNeeded: $0.int64(0)), secret: $0.bytes(1))
    }
  }

  /// Makes a secret the current one and forgets all but the one before it.
  static func add(_ secret: [UInt8], _ transaction: Transaction) throws {
    // Without a gap, which counters of a database have: the two that are kept follow each other.
    try transaction.execute(
      """
      insert into challenge_secrets (generation, secret)
      select coalesce(max(generation), 0) + 1, $1 from challenge_secrets
      """, [.blob(secret)])
    try transaction.execute(
      """
      delete from challenge_secrets
      where generation < (select max(c.generation) from challenge_secrets c) - 1
      """)
  }
}
