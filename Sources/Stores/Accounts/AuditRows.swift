import Accounts
import Encodings
import SQL

/// The log of every act that matters to somebody's safety, written in the transaction of the act.
enum AuditRows {
  private static let columns = """
    id, time, action, result, actor, operator, address, device, user_id, session, reason
    """

  /// - Parameter reason: in the words of this program, without values of the user.
  static func write(
    _ action: AuditAction, by origin: RequestOrigin = .server, user: UUID?, session: UUID? = nil,
    result: AuditResult = .done, reason: String? = nil, now: Int64, _ transaction: Transaction
  ) throws {
    try transaction.enqueue(
      """
      insert into audit_log (time, action, result, actor, operator, address, device, user_id, session, reason)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      """,
      [
        .integer(now), .text(action.rawValue), .text(result.rawValue), .text(origin.actor.word),
        SQLValue(origin.actor.key), SQLValue(origin.address), SQLValue(origin.device), SQLValue(user),
        SQLValue(session), SQLValue(reason),
      ])
  }

  static func entries(
    _ filter: AuditFilter, before: Int64?, limit: Int64, _ transaction: Transaction
  ) async throws -> [AuditEntry] {
    var conditions: [String] = []
    var values: [SQLValue] = []
    func demand(_ condition: String, _ value: SQLValue?) {
      guard let value else { return }
      values.append(value)
      conditions.append("\(condition) $\(values.count)")
    }
    demand("user_id =", filter.user.map { SQLValue($0) })
    demand("action =", filter.action.map { .text($0) })
    demand("time >=", filter.from.map { .integer($0) })
    demand("time <", filter.to.map { .integer($0) })
    demand("id <", before.map { .integer($0) })
    let condition = conditions.isEmpty ? "" : "where " + conditions.joined(separator: " and ")
    values.append(.integer(max(limit, 0)))
    return try await transaction.rows(
      "select \(columns) from audit_log \(condition) order by id desc limit $\(values.count)", values
    ) { try read($0) }
  }

  static func forget(before time: Int64, limit: Int64, _ transaction: Transaction) async throws -> Int {
    try await transaction.execute(
      """
      delete from audit_log where id in (select id from audit_log where time < $1 order by time limit $2)
      """, [.integer(time), .integer(max(limit, 0))])
  }

  private static func read(_ row: Row) throws -> AuditEntry {
    let actor = row.optionalString(4).flatMap {
      RequestOrigin.Actor(word: $0, key: row.optionalString(5))
    }
    return AuditEntry(
      id: row.int64(0), time: row.int64(1), action: row.string(2),
      result: AuditResult(rawValue: row.string(3)) ?? .refused,
      origin: actor.map {
        RequestOrigin($0, address: row.optionalString(6), device: row.optionalBytes(7))
      },
      user: try row.optionalUUID(8), session: try row.optionalUUID(9), reason: row.optionalString(10))
  }
}
