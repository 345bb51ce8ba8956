import Admission

/// What the ledger's lane decides.
enum LedgerJob: Sendable {
  case admit(AdmissionRequest)
  case issueSession(AdmissionRequest, token: SessionToken, atMost: Int)
  case settle(Settlement)
  case renew(id: [UInt8], lease: Int64, now: Int64)
  /// Settles at most `limit` expired reservations.
  case sweep(now: Int64, limit: Int)
  case remaining(keyID: [UInt8], charges: [Charge], now: Int64)
}

struct LedgerAnswer: Sendable {
  var content: LedgerContent
  /// What an operator is told of once this is durable.
  var alarms: [LimitAlarm] = []
}

enum LedgerContent: Sendable {
  case decision(AdmissionDecision)
  case done(Bool)
  case count(Int)
  case remaining([Remaining])
}
