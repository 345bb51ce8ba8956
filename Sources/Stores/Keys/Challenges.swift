import Admission
import AppAttest
import SQL

/// Challenges with a row of their own, and the secrets that all are authenticated with (RULES §1.4).
enum Challenges {
  /// Consumes it; false when it was consumed before or expires at or below the floor.
  static func consume(
    _ challenge: ConsumedChallenge, keyID: [UInt8], _ transaction: Transaction
  ) throws -> Bool {
    let floor = try transaction.first("select expiry from challenge_floor") { $0.int64(0) } ?? .max
    guard challenge.expiry > floor else { return false }
    return try transaction.execute(
      "insert into consumed_challenges (random, expiry, key_id) values ($1, $2, $3) on conflict (random) do nothing",
      [.blob(challenge.random), .integer(challenge.expiry), .blob(keyID)]) > 0
  }

  /// Whether this key's registration consumed it.
  static func wasConsumed(
    _ challenge: ConsumedChallenge, by keyID: [UInt8], _ transaction: Transaction
  ) throws -> Bool {
    try transaction.first(
      "select 1 from consumed_challenges where random = $1 and key_id = $2",
      [.blob(challenge.random), .blob(keyID)]
    ) { _ in true } ?? false
  }

  /// Forgets what expired by `now` (seconds since 1970) and raises the floor to it, so that no step of the clock
  /// revives one.
  static func sweep(now: Int64, _ transaction: Transaction) throws {
    try transaction.execute("update challenge_floor set expiry = $1 where expiry < $1", [.integer(now)])
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
    let generation = try transaction.insert(
      "insert into challenge_secrets (secret) values ($1)", [.blob(secret)])
    try transaction.execute(
      "delete from challenge_secrets where generation < $1", [.integer(generation - 1)])
  }
}
