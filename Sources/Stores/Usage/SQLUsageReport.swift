package import Admission
package import SQL

/// Past requests, read beside the writer.
package struct SQLUsageReport: UsageReport {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func usage(from: Int64, to: Int64, limit: Int) async throws -> [UsageRecord] {
    try await database.read { transaction in
      try transaction.rows(
        """
        select k.key_id, u.user_id, u.route, u.provider, u.model, u.status, u.input_tokens, u.cache_read_tokens,
          u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.output_tokens, u.cost, u.estimated, u.started_at,
          u.first_byte, u.duration, u.function, u.images, u.units
        from usage u left join device_keys k on k.id = u.device
        where u.started_at >= $1 and u.started_at < $2
        order by u.started_at desc, u.id desc limit $3
        """, [.integer(from), .integer(to), .integer(Int64(limit))]
      ) {
        UsageRecord(
          keyID: $0.optionalBytes(0), userID: $0.optionalString(1), route: $0.string(2),
          provider: $0.string(3),
          model: $0.string(4), status: $0.int(5), inputTokens: $0.int64(6), cacheReadTokens: $0.int64(7),
          cacheWrite5mTokens: $0.int64(8), cacheWrite1hTokens: $0.int64(9), outputTokens: $0.int64(10),
          cost: $0.int64(11), estimated: $0.bool(12), startedAt: $0.int64(13),
          firstByte: $0.optionalInt64(14),
          duration: $0.int64(15), function: $0.optionalString(16), images: $0.int64(17),
          units: $0.int64(18))
      }
    }
  }

  package func usageTotals(from: Int64, to: Int64) async throws -> [UsageTotal] {
    try await database.read { transaction in
      try transaction.rows(
        """
        select $1 + (started_at - $1) / 86400000 * 86400000 as day, provider, model, count(*),
          sum(input_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens + cache_write_1h_tokens),
          sum(output_tokens), sum(cost)
        from usage where started_at >= $1 and started_at < $2
        group by day, provider, model order by day, provider, model
        """, [.integer(from), .integer(to)]
      ) {
        UsageTotal(
          day: $0.int64(0), provider: $0.string(1), model: $0.string(2), requests: $0.int64(3),
          inputTokens: $0.int64(4), cacheReadTokens: $0.int64(5), cacheWriteTokens: $0.int64(6),
          outputTokens: $0.int64(7), cost: $0.int64(8))
      }
    }
  }
}
