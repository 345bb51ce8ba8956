package import Accounts
package import SQL

/// Operators' keys in a database.
package struct SQLAdminKeyStore: AdminKeyStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func createAdminKey(name: String, hash: [UInt8], now: Int64) async throws -> Bool {
    try await database.write { transaction in
      try transaction.execute(
        """
        insert into admin_keys (name, hash, created_at) values ($1, $2, $3) on conflict (name) do nothing
        """, [.text(name), .blob(hash), .integer(now)]) > 0
    }
  }

  package func revokeAdminKey(name: String) async throws -> Bool {
    try await database.write { transaction in
      try transaction.execute("delete from admin_keys where name = $1", [.text(name)]) > 0
    }
  }

  package func adminKeys() async throws -> [ListedAdminKey] {
    try await database.read { transaction in
      try transaction.rows("select name, created_at from admin_keys order by name") {
        ListedAdminKey(name: $0.string(0), createdAt: $0.int64(1))
      }
    }
  }

  package func adminKey(hash: [UInt8]) async throws -> String? {
    try await database.read { transaction in
      try transaction.first("select name from admin_keys where hash = $1", [.blob(hash)]) { $0.string(0) }
    }
  }
}
