package import Accounts
package import SQL

/// The audit log in a database.
package struct SQLAuditStore: AuditStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func audit(_ filter: AuditFilter, before: Int64?, limit: Int64) async throws -> [AuditEntry] {
    try await database.read { try await AuditRows.entries(filter, before: before, limit: limit, $0) }
  }

  package func forgetAudit(before time: Int64, limit: Int64) async throws -> Int {
    try await database.write { try await AuditRows.forget(before: time, limit: limit, $0) }
  }
}
