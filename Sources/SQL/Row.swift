/// A row of an answer, valid until the closure that got it returns. Columns count from 0.
package struct Row {
  enum Source {
    case sqlite(Statement)
    case postgreSQL(PostgresResult, row: Int32)
  }

  let source: Source

  /// NULL reads as 0, as an empty text or as no octets, whatever is asked for.
  package func int64(_ column: Int32) -> Int64 {
    switch source {
    case .sqlite(let statement): statement.int64(column)
    case .postgreSQL(let result, let row): result.int64(row, column)
    }
  }

  package func int(_ column: Int32) -> Int { Int(clamping: int64(column)) }

  package func double(_ column: Int32) -> Double {
    switch source {
    case .sqlite(let statement): statement.double(column)
    case .postgreSQL(let result, let row): result.double(row, column)
    }
  }

  package func bool(_ column: Int32) -> Bool { int64(column) != 0 }

  package func string(_ column: Int32) -> String {
    switch source {
    case .sqlite(let statement): statement.string(column)
    case .postgreSQL(let result, let row): result.string(row, column)
    }
  }

  package func bytes(_ column: Int32) -> [UInt8] {
    switch source {
    case .sqlite(let statement): statement.bytes(column)
    case .postgreSQL(let result, let row): result.bytes(row, column)
    }
  }

  package func isNull(_ column: Int32) -> Bool {
    switch source {
    case .sqlite(let statement): statement.isNull(column)
    case .postgreSQL(let result, let row): result.isNull(row, column)
    }
  }

  /// nil for NULL, as the ones below.
  package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
  package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
  package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
