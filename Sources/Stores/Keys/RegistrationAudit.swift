import Accounts
import AppAttest
import SQL

/// What the audit log is told of registrations of devices' keys.
enum RegistrationAudit {
  /// How long the same refusal from the same address is written once, milliseconds.
  private static let quiet: Int64 = 60_000
  /// How many lines are looked through for it.
  private static let reach = 50

  /// A registration that is repeated, since its answer was lost, was written before.
  static func note(
    _ outcome: RegistrationOutcome, _ key: DeviceKey, from address: String?, _ transaction: Transaction
  ) async throws {
    let now = key.registeredAt.multipliedReportingOverflow(by: 1_000).partialValue
    let reason: String
    switch outcome {
    case .alreadyRegistered: return
    case .created:
      let origin = RequestOrigin(.user, address: address, device: key.keyID)
      return try AuditRows.write(
        .deviceKeyRegistered, by: origin, user: nil, reason: "\(key.environment.rawValue) \(key.appID)",
        now: now, transaction)
    case .conflict: reason = "known with other facts"
    case .challengeUsed: reason = "challenge used"
    case .revoked: reason = "revoked or banned"
    }
    try await refused(key.keyID, reason: reason, from: address, now: now, transaction)
  }

  static func refused(
    _ keyID: [UInt8], reason: String, from address: String?, now: Int64, _ transaction: Transaction
  ) async throws {
    guard try await !isKnown(reason, from: address, now: now, transaction) else { return }
    try AuditRows.write(
      .deviceKeyRegistered, by: RequestOrigin(.user, address: address, device: keyID), user: nil,
      result: .refused, reason: reason, now: now, transaction)
  }

  /// Whether that was written a moment ago.
  static func isKnown(
    _ reason: String, from address: String?, now: Int64, _ transaction: Transaction
  ) async throws -> Bool {
    try await transaction.first(
      """
      select 1 from (select time, result, address, reason from audit_log where action = $1
        order by id desc limit \(reach)) l
      where l.result = $2 and l.reason = $3 and coalesce(l.address, '') = $4 and l.time > $5 and l.time <= $6 limit 1
      """,
      [
        .text(AuditAction.deviceKeyRegistered.rawValue), .text(AuditResult.refused.rawValue), .text(reason),
        .text(address ?? ""), .integer(now - quiet), .integer(now),
      ]
    ) { _ in true } ?? false
  }
}
