import CSQLite

extension DatabaseError {
  /// The error that an extended result code of SQLite stands for (sqlite.org/rescode.html).
  static func of(_ code: Int32, _ message: String) -> DatabaseError {
    switch code & 0xff {
    case SQLITE_FULL: .diskFull
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_READONLY, SQLITE_PERM: .readOnly
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(message)
    case SQLITE_CANTOPEN: .cannotOpen(path: "", reason: message)
    case SQLITE_IOERR: .inputOutput(code: code)
    case SQLITE_CONSTRAINT: .constraint(constraint(code), message)
    default: .failed(code: code, message)
    }
  }

  private static func constraint(_ code: Int32) -> Constraint {
    // The extended codes are macros with arithmetic, which Swift does not import: 19 | n << 8.
    switch code >> 8 {
    case 1: .check
    case 3: .foreignKey
    case 5: .notNull
    case 6, 8, 10: .unique
    default: .other
    }
  }
}
