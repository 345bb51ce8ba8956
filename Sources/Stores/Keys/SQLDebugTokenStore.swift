import Accounts
import Admission
package import SQL

/// Debug tokens in a database.
package struct SQLDebugTokenStore: DebugTokenStore {
  private let database: Database
  private let act: OperatorAct?

  /// - Parameters:
  ///   - database: migrated to `Schema`.
  ///   - act: whose changes these are; without it they are not written to the audit log.
  package init(_ database: Database, _ act: OperatorAct? = nil) {
    self.database = database
    self.act = act
  }

  package func createDebugToken(name: String, hash: [UInt8], expiry: Int64, now: Int64) async throws -> Bool {
    try await database.write { transaction in
      let made = try await transaction.execute(
        """
        insert into debug_tokens (name, hash, expiry, created_at) values ($1, $2, $3, $4)
        on conflict (name) do nothing
        """, [.text(name), .blob(hash), .integer(expiry), .integer(now)])
      guard made > 0 else { return false }
      try act?.write(.debugTokenCreated, reason: name, transaction)
      return true
    }
  }

  package func revokeDebugToken(name: String) async throws -> Bool {
    try await database.write { transaction in
      guard try await transaction.execute("delete from debug_tokens where name = $1", [.text(name)]) > 0
      else {
        return false
      }
      try act?.write(.debugTokenRevoked, reason: name, transaction)
      return true
    }
  }

  package func debugTokens() async throws -> [(name: String, expiry: Int64, lastUse: Int64?)] {
    try await database.read { transaction in
      try await transaction.rows("select name, expiry, last_use from debug_tokens order by name") {
        ($0.string(0), $0.int64(1), $0.optionalInt64(2))
      }
    }
  }
}
