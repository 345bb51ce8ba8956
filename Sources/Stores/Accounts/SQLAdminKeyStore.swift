package import Accounts
package import SQL

/// Operators' keys in a database.
package struct SQLAdminKeyStore: AdminKeyStore {
  private let database: Database
  private let act: OperatorAct?

  /// - Parameters:
  ///   - database: migrated to `Schema`.
  ///   - act: whose changes these are; without it they are not written to the audit log.
  package init(_ database: Database, _ act: OperatorAct? = nil) {
    self.database = database
    self.act = act
  }

  package func createAdminKey(name: String, hash: [UInt8], now: Int64) async throws -> Bool {
    try await database.write { transaction in
      let made = try await transaction.execute(
        """
        insert into admin_keys (name, hash, created_at) values ($1, $2, $3) on conflict (name) do nothing
        """, [.text(name), .blob(hash), .integer(now)])
      guard made > 0 else { return false }
      try act?.write(.adminKeyCreated, reason: name, transaction)
      return true
    }
  }

  package func revokeAdminKey(name: String) async throws -> Bool {
    try await database.write { transaction in
      guard try await transaction.execute("delete from admin_keys where name = $1", [.text(name)]) > 0 else {
        return false
      }
      try act?.write(.adminKeyRevoked, reason: name, transaction)
      return true
    }
  }

  package func adminKeys() async throws -> [ListedAdminKey] {
    try await database.read { transaction in
      try await transaction.rows("select name, created_at from admin_keys order by name") {
        ListedAdminKey(name: $0.string(0), createdAt: $0.int64(1))
      }
    }
  }

  package func adminKey(hash: [UInt8]) async throws -> String? {
    try await database.read { transaction in
      try await transaction.first("select name from admin_keys where hash = $1", [.blob(hash)]) {
        $0.string(0)
      }
    }
  }
}
