package import Gateway
package import SQL

/// Calls that providers' queues have, in a database that all nodes share.
package struct SQLQueuedCallStore: QueuedCallStore {
  /// A call that is to be looked at later than this from now was put there by a clock that has gone back since.
  private static let farthest: Int64 = 600_000

  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func add(_ call: QueuedCall, nextLook: Int64) async throws {
    try await database.write { transaction in
      _ = try await transaction.execute(
        """
        insert into queued_calls (id, reservation, provider, model, route, upstream_id, owner, user_id, unit,
          unit_price, unit_bound, image_bound, reserve, submitted_at, attempts, ended_at, next_look)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        """,
        [
          .blob(call.id), .blob(call.reservation), .text(call.provider), .text(call.model),
          .text(call.route), .text(call.upstreamID), .blob(call.owner), SQLValue(call.userID),
          .text(call.unit.unit), .integer(call.unit.price), .integer(call.microUnitBound),
          .integer(call.imageBound),
          .integer(call.reserve), .integer(call.submittedAt), .integer(call.attempts),
          SQLValue(call.endedAt), .integer(nextLook),
        ])
    }
  }

  package func call(_ id: [UInt8]) async throws -> QueuedCall? { try await call("id", id) }

  package func call(ofReservation id: [UInt8]) async throws -> QueuedCall? {
    try await call("reservation", id)
  }

  private func call(_ column: String, _ id: [UInt8]) async throws -> QueuedCall? {
    try await database.read { transaction in
      try await transaction.first(
        "select \(Self.columns) from queued_calls where \(column) = $1", [.blob(id)]
      ) {
        Self.call($0)
      }
    }
  }

  package func take(dueAt now: Int64, again: Int64, atMost limit: Int) async throws -> [QueuedCall] {
    let due = "ended_at is null and (next_look <= $1 or next_look > $2)"
    let far = Self.farthest.addingReportingOverflow(now).partialValue
    // Mostly there is none, and writing costs: look first. What is seen here decides nothing else.
    let isDue = try await database.read { transaction in
      try await transaction.first(
        "select exists (select 1 from queued_calls where \(due))", [.integer(now), .integer(far)]
      ) { $0.bool(0) } ?? false
    }
    guard isDue else { return [] }
    return try await database.write { transaction in
      return try await transaction.rows(
        """
        update queued_calls set next_look = $3 where id in (
          select id from queued_calls where \(due) order by next_look limit $4\(transaction.skippingLocked))
        returning \(Self.columns)
        """, [.integer(now), .integer(far), .integer(again), .integer(Int64(max(limit, 0)))]
      ) { Self.call($0) }
    }
  }

  package func look(at id: [UInt8], again: Int64, unclear: Bool) async throws {
    try await database.write { transaction in
      _ = try await transaction.execute(
        "update queued_calls set next_look = $2, attempts = attempts + $3 where id = $1 and ended_at is null",
        [.blob(id), .integer(again), .integer(unclear ? 1 : 0)])
    }
  }

  package func end(_ id: [UInt8], now: Int64) async throws -> Bool {
    try await database.write { transaction in
      try await transaction.execute(
        "update queued_calls set ended_at = $2 where id = $1 and ended_at is null",
        [.blob(id), .integer(now)]) > 0
    }
  }

  package func forget(endedBefore time: Int64, atMost limit: Int) async throws -> Int {
    let isDue = try await database.read { transaction in
      try await transaction.first(
        "select exists (select 1 from queued_calls where ended_at < $1)", [.integer(time)]
      ) { $0.bool(0) } ?? false
    }
    guard isDue else { return 0 }
    return try await database.write { transaction in
      try await transaction.execute(
        "delete from queued_calls where id in (select id from queued_calls where ended_at < $1 limit $2)",
        [.integer(time), .integer(Int64(max(limit, 0)))])
    }
  }

  private static let columns = """
    id, reservation, provider, model, route, upstream_id, owner, user_id, unit, unit_price, unit_bound, image_bound,
      reserve, submitted_at, attempts, ended_at
    """

  private static func call(_ row: Row) -> QueuedCall {
    QueuedCall(
      id: row.bytes(0), reservation: row.bytes(1), provider: row.string(2), model: row.string(3),
      route: row.string(4), upstreamID: row.string(5), owner: row.bytes(6), userID: row.optionalString(7),
      unit: UnitPrice(unit: row.string(8), price: row.int64(9)), microUnitBound: row.int64(10),
      imageBound: row.int64(11), reserve: row.int64(12), submittedAt: row.int64(13), attempts: row.int64(14),
      endedAt: row.optionalInt64(15))
  }
}
