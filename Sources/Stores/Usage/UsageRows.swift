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
    if let function = usage.function { try insert.bind(17, function) } else { try insert.bindNull(17) }
    try insert.bind(18, usage.images)
    try insert.bind(19, usage.units)
    try insert.run()
  }
}

/// A row of the usage table.
enum UsageRows {
  static let insert = """
    insert into usage (device, user_id, route, provider, model, status, input_tokens, cache_read_tokens,
      cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, cost, estimated, started_at, first_byte,
      duration, function, images, units)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    """

  static func values(_ usage: UsageRecord, device: Int64?) -> [SQLValue] {
    [
      SQLValue(device), SQLValue(usage.userID), .text(usage.route), .text(usage.provider),
      .text(usage.model), .integer(Int64(usage.status)), .integer(usage.inputTokens),
      .integer(usage.cacheReadTokens), .integer(usage.cacheWrite5mTokens),
      .integer(usage.cacheWrite1hTokens), .integer(usage.outputTokens), .integer(usage.cost),
      .integer(usage.estimated ? 1 : 0), .integer(usage.startedAt), SQLValue(usage.firstByte),
      .integer(usage.duration), SQLValue(usage.function), .integer(usage.images), .integer(usage.units),
    ]
  }
}
