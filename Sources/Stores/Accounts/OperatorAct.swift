package import Accounts
import SQL

/// On whose word a store changes what operators alone change, and when; it is written to the audit log.
package struct OperatorAct: Sendable {
  package var origin: RequestOrigin
  /// Milliseconds since 1970.
  package var now: Int64

  package init(_ origin: RequestOrigin, now: Int64) {
    self.origin = origin
    self.now = now
  }

  /// - Parameter device: the App Attest key that it is about.
  func write(
    _ action: AuditAction, device: [UInt8]? = nil, reason: String? = nil, _ transaction: Transaction
  ) throws {
    try AuditRows.write(
      action, by: origin.with(device: device), user: nil, reason: reason, now: now, transaction)
  }
}
