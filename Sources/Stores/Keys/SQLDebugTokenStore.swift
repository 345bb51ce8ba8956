import Admission
package import SQL

/// Debug tokens in a database.
package struct SQLDebugTokenStore: DebugTokenStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func createDebugToken(name: String, hash: [UInt8], expiry: Int64, now: Int64) async throws -> Bool {
    try await database.write { transaction in
      try transaction.execute(
        """
        insert into debug_tokens (name, hash, expiry, created_at) values ($1, $2, $3, $4)
        on conflict (name) do nothing
        """, [.text(name), .blob(hash), .integer(expiry), .integer(now)]) > 0
    }
  }

  package func revokeDebugToken(name: String) async throws -> Bool {
    try await database.write { transaction in
      try transaction.execute("delete from debug_tokens where name = $1", [.text(name)]) > 0
    }
  }

  package func debugTokens() async throws -> [(name: String, expiry: Int64, lastUse: Int64?)] {
    try await database.read { transaction in
      try transaction.rows("select name, expiry, last_use from debug_tokens order by name") {
        ($0.string(0), $0.int64(1), $0.optionalInt64(2))
      }
    }
  }
}
