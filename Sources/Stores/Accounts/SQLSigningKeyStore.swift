package import Accounts
package import SQL

/// Signing keys and the secrets of refresh tokens in a database that all nodes share.
package struct SQLSigningKeyStore: SigningKeyStore {
  private let database: Database
  private let origin: RequestOrigin

  /// - Parameters:
  ///   - database: migrated to `Schema`.
  ///   - origin: who rotates.
  package init(_ database: Database, by origin: RequestOrigin = .server) {
    self.database = database
    self.origin = origin
  }

  package func signingKeys(fresh: StoredSigningKey, now: Int64) async throws -> [StoredSigningKey] {
    let kept = try await database.read { try await Self.keys(now: now, $0) }
    if !kept.isEmpty { return kept }
    return try await database.write { transaction in
      // Another node may have been first: then its key is everyone's.
      let kept = try await Self.keys(now: now, transaction)
      if !kept.isEmpty { return kept }
      try await Self.insert(fresh, transaction)
      return try await Self.keys(now: now, transaction)
    }
  }

  package func rotate(
    to next: StoredSigningKey, after newest: String, keepUntil: Int64, now: Int64
  ) async throws -> Bool {
    try await database.write { transaction in
      let known = try await transaction.rows("select kid from signing_keys where published_until is null") {
        $0.string(0)
      }
      guard known == [newest] else { return false }
      try await transaction.execute("delete from signing_keys where published_until <= $1", [.integer(now)])
      try await transaction.execute(
        "update signing_keys set published_until = $2 where kid = $1", [.text(newest), .integer(keepUntil)])
      try await Self.insert(next, transaction)
      try AuditRows.write(
        .signingKeyRotated, by: origin, user: nil, reason: next.kid, now: now, transaction)
      return true
    }
  }

  package func refreshSecrets(fresh: StoredRefreshSecret) async throws -> [StoredRefreshSecret] {
    let kept = try await database.read { try await Self.secrets($0) }
    if !kept.isEmpty { return kept }
    return try await database.write { transaction in
      let kept = try await Self.secrets(transaction)
      if !kept.isEmpty { return kept }
      try await transaction.execute(
        "insert into refresh_secrets (generation, secret, sealing_key) values (1, $1, $2)",
        [.blob(fresh.material), SQLValue(fresh.sealingKey)])
      return try await Self.secrets(transaction)
    }
  }

  package func personSecret(fresh: [UInt8]) async throws -> [UInt8] {
    if let kept = try await database.read({ try await PersonRows.secret(fresh: nil, $0) }) { return kept }
    return try await database.write { try await PersonRows.secret(fresh: fresh, $0) ?? fresh }
  }

  private static func keys(now: Int64, _ transaction: Transaction) async throws -> [StoredSigningKey] {
    try await transaction.rows(
      """
      select kid, sealing_key, material, active_from, published_until from signing_keys
      where published_until is null or published_until > $1 order by active_from, kid
      """, [.integer(now)]
    ) {
      StoredSigningKey(
        kid: $0.string(0), sealingKey: $0.optionalString(1), material: $0.bytes(2),
        activeFrom: $0.int64(3), publishedUntil: $0.optionalInt64(4))
    }
  }

  private static func insert(_ key: StoredSigningKey, _ transaction: Transaction) async throws {
    try await transaction.execute(
      """
      insert into signing_keys (kid, sealing_key, material, active_from, published_until)
      values ($1, $2, $3, $4, $5)
      """,
      [
        .text(key.kid), SQLValue(key.sealingKey), .blob(key.material), .integer(key.activeFrom),
        SQLValue(key.publishedUntil),
      ])
  }

  private static func secrets(_ transaction: Transaction) async throws -> [StoredRefreshSecret] {
    try await transaction.rows(
      "select generation, secret, sealing_key from refresh_secrets order by generation desc"
    ) {
      StoredRefreshSecret(
        id: UInt8(truncatingIfNeeded: $0.int64(0)), sealingKey: $0.optionalString(2), material: $0.bytes(1))
    }
  }
}
