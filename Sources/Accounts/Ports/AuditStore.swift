/// The audit log as operators read it. Its lines are written by the other stores, in the transaction of the act.
/// Each method is one atomic step. Times are milliseconds since 1970.
package protocol AuditStore: Sendable {
  /// Lines that the filter leaves, newest first, at most `limit`; of those older than the line `before`.
  func audit(_ filter: AuditFilter, before: Int64?, limit: Int64) async throws -> [AuditEntry]
  /// Forgets at most `limit` lines from before that time; how many it forgot.
  func forgetAudit(before time: Int64, limit: Int64) async throws -> Int
}
