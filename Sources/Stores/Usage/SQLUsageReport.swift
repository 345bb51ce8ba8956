package import Admission
import Encodings
package import Gateway
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
      try await transaction.rows(
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

  package func usageSums(
    in windows: [Window], by columns: [UsageColumn]
  ) async throws -> [UsageSum] {
    let names = columns.map(Self.name)
    let selected = (names + [Self.sums]).joined(separator: ", ")
    let order = names.isEmpty ? "having count(*) > 0" : Self.grouped(names)
    return try await database.read { transaction in
      var sums: [UsageSum] = []
      for window in windows {
        sums += try await transaction.rows(
          """
          select \(selected) from usage u left join device_keys k on k.id = u.device
          where u.started_at >= $1 and u.started_at < $2 \(order)
          """, [.integer(window.start), .integer(window.end)]
        ) { row in
          let values = columns.enumerated().map { index, column in
            let place = Int32(clamping: index)
            return column == .key ? Base64.encode(row.optionalBytes(place) ?? []) : row.string(place)
          }
          let first = Int32(clamping: columns.count)
          return UsageSum(
            window: window, values: values, requests: row.int64(first), inputTokens: row.int64(first + 1),
            cacheReadTokens: row.int64(first + 2), cacheWriteTokens: row.int64(first + 3),
            outputTokens: row.int64(first + 4), images: row.int64(first + 5), units: row.int64(first + 6),
            cost: row.int64(first + 7))
        }
      }
      return sums
    }
  }

  private static let sums = """
    count(*), sum(u.input_tokens), sum(u.cache_read_tokens),
      sum(u.cache_write_5m_tokens + u.cache_write_1h_tokens), sum(u.output_tokens), sum(u.images),
      sum(u.units), sum(u.cost)
    """

  private static func grouped(_ names: [String]) -> String {
    let list = names.joined(separator: ", ")
    return "group by \(list) order by \(list)"
  }

  private static func name(_ column: UsageColumn) -> String {
    switch column {
    case .user: "coalesce(u.user_id, '')"
    case .key: "k.key_id"
    case .function: "coalesce(u.function, '')"
    case .provider: "u.provider"
    case .model: "u.model"
    }
  }
}
