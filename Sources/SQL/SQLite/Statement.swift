import CSQLite

/// A prepared statement of one connection. Bind, step, read, reset; `run` does all but read.
@safe package final class Statement {
  private let handle: OpaquePointer
  private unowned let connection: Connection
  private let writes: Bool

  init(_ handle: OpaquePointer, of connection: Connection) {
    unsafe self.handle = handle
    self.connection = connection
    writes = unsafe sqlite3_stmt_readonly(handle) == 0
  }

  deinit {
    unsafe sqlite3_finalize(handle)
  }

  /// Binds `$1`, `$2` … in order.
  package func bind(_ values: [SQLValue]) throws(DatabaseError) {
    var index: Int32 = 1
    for value in values {
      switch value {
      case .null: try bindNull(index)
      case .integer(let number): try bind(index, number)
      case .real(let number): try check(unsafe sqlite3_bind_double(handle, index, number))
      case .text(let text): try bind(index, text)
      case .blob(let bytes), .uuid(let bytes): try bind(index, bytes)
      case .integers, .texts, .blobs: throw .failed(code: 0, "SQLite has no arrays")
      }
      index += 1
    }
  }

  package func bindNull(_ index: Int32) throws(DatabaseError) {
    try check(unsafe sqlite3_bind_null(handle, index))
  }

  package func bind(_ index: Int32, _ value: Int64) throws(DatabaseError) {
    try check(unsafe sqlite3_bind_int64(handle, index, value))
  }

  package func bind(_ index: Int32, _ value: String) throws(DatabaseError) {
    var value = value
    let code = value.withUTF8 { bytes in
      guard let base = bytes.baseAddress else {
        return unsafe bramley_sqlite_bind_text(handle, index, "", 0)
      }
      return unsafe base.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        unsafe bramley_sqlite_bind_text(handle, index, $0, Int32(clamping: bytes.count))
      }
    }
    try check(code)
  }

  package func bind(_ index: Int32, _ value: [UInt8]) throws(DatabaseError) {
    // A blob without octets must not become NULL, which a nil pointer would.
    if value.isEmpty {
      try check(unsafe sqlite3_bind_zeroblob(handle, index, 0))
      return
    }
    let code = unsafe value.withUnsafeBytes { bytes in
      unsafe bramley_sqlite_bind_blob(handle, index, bytes.baseAddress, Int32(clamping: bytes.count))
    }
    try check(code)
  }

  /// Goes to the next row; false at the end.
  package func step() throws(DatabaseError) -> Bool {
    if writes { connection.wrote = true }
    let code = unsafe sqlite3_step(handle)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = connection.error(code)
      unsafe sqlite3_reset(handle)
      throw error
    }
  }

  /// Makes the statement ready for another run; parameters keep their values.
  package func reset() {
    unsafe sqlite3_reset(handle)
  }

  /// Steps to the end and resets.
  package func run() throws(DatabaseError) {
    while try step() {}
    reset()
  }

  /// NULL reads as 0.
  package func int64(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

  package func double(_ column: Int32) -> Double { unsafe sqlite3_column_double(handle, column) }

  package func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

  /// NULL reads as no octets.
  package func bytes(_ column: Int32) -> [UInt8] {
    guard let base = unsafe sqlite3_column_blob(handle, column) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe Array(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// NULL reads as an empty text.
  package func string(_ column: Int32) -> String {
    guard let base = unsafe sqlite3_column_text(handle, column) else { return "" }
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe String(decoding: UnsafeBufferPointer(start: base, count: count), as: UTF8.self)
  }

  private func check(_ code: Int32) throws(DatabaseError) {
    if code != SQLITE_OK { throw connection.error(code) }
  }
}
