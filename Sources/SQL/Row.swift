/// A row under a statement's cursor, valid until the closure that got it returns. Columns count from 0.
package struct Row {
  let statement: Statement

  package func int64(_ column: Int32) -> Int64 { statement.int64(column) }
  package func int(_ column: Int32) -> Int { Int(clamping: statement.int64(column)) }
  package func double(_ column: Int32) -> Double { statement.double(column) }
  package func bool(_ column: Int32) -> Bool { statement.int64(column) != 0 }
  package func string(_ column: Int32) -> String { statement.string(column) }
  package func bytes(_ column: Int32) -> [UInt8] { statement.bytes(column) }

  package func isNull(_ column: Int32) -> Bool { statement.isNull(column) }

  /// nil for NULL, as the ones below.
  package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
  package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
  package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
