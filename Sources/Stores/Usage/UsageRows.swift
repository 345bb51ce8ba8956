import Admission
import SQL

extension LedgerBook {
  /// - Parameter device: the row of the key whose reservation was settled.
  func add(_ usage: UsageRecord, device: Int64?) throws {
    let insert = try statements.insertUsage
    if let device { try insert.bind(1, device) } else { try insert.bindNull(1) }
    if let user = usage.userID { try insert.bind(2, user) } else { try insert.bindNull(2) }
    try insert.bind(3, usage.route)
    try insert.bind(4, usage.provider)
    try insert.bind(5, usage.model)
    try insert.bind(6, Int64(usage.status))
    try insert.bind(7, usage.inputTokens)
    try insert.bind(8, usage.cacheReadTokens)
    try insert.bind(9, usage.cacheWrite5mTokens)
    try insert.bind(10, usage.cacheWrite1hTokens)
    try insert.bind(11, usage.outputTokens)
    try insert.bind(12, usage.cost)
    try insert.bind(13, usage.estimated ? 1 : 0)
    try insert.bind(14, usage.startedAt)
    if let firstByte = usage.firstByte { try insert.bind(15, firstByte) } else { try insert.bindNull(15) }
    try insert.bind(16, usage.duration)
    try insert.run()
  }
}
