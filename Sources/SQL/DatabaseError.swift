/// What a database could not do. Texts name tables and files, never values.
package enum DatabaseError: Error, Equatable {
  /// The file could not be opened or is no database.
  case cannotOpen(path: String, reason: String)
  /// No room on the disk, or a limit of the database is reached. What was committed before is intact.
  case diskFull
  /// Another process holds the write lock for longer than the time-out.
  case busy
  /// The file, its directory or the connection cannot be written.
  case readOnly
  /// The file is damaged.
  case corrupt(String)
  /// Reading or writing the file failed; the code is the database's extended one.
  case inputOutput(code: Int32)
  /// A row broke a constraint of its table.
  case constraint(Constraint, String)
  /// The schema was written by a newer program.
  case schemaTooNew(found: Int, known: Int)
  /// A migration that was applied is not the one that this program knows by that number.
  case schemaMismatch(version: Int, found: String, known: String)
  /// The server cannot be reached, or refuses connections. Nothing was done.
  case unavailable(String)
  /// A statement, a lock or a connection was waited for too long. Nothing was done.
  case timedOut
  /// Other transactions were in the way at every attempt. Nothing was done.
  case conflict
  /// The connection broke during the commit: what was asked for is done, or is not.
  case outcomeUnknown
  /// The database was closed.
  case closed
  /// A batch decider gave another number of answers than it had jobs.
  case miscounted(jobs: Int, answers: Int)
  /// Anything else, with the database's words.
  case failed(code: Int32, String)

  /// Which kind of constraint was broken.
  package enum Constraint: Sendable, Equatable {
    case unique
    case foreignKey
    case notNull
    case check
    case other
  }
}

extension DatabaseError: CustomStringConvertible {
  /// One line for the operator's log, with what to do where that is known.
  package var description: String {
    switch self {
    case .cannotOpen(let path, let reason): "cannot open the database \(path): \(reason)"
    case .diskFull: "the database has no room left: free space on its disk; nothing committed is lost"
    case .busy: "another process holds the database's write lock"
    case .readOnly: "the database cannot be written: check the owner and mode of the file and its directory"
    case .corrupt(let what): "the database is damaged (\(what)): restore a backup"
    case .inputOutput(let code): "reading or writing the database failed (code \(code))"
    case .constraint(_, let what): "a row was refused: \(what)"
    case .schemaTooNew(let found, let known):
      """
      the database was written by a newer Bramley (schema \(found), this one knows \(known)): \
      run that version or a later one, or restore a backup made before the update
      """
    case .schemaMismatch(let version, let found, let known):
      "schema \(version) of the database is '\(found)', this Bramley knows it as '\(known)'"
    case .unavailable(let what): "the database does not answer: \(what)"
    case .timedOut: "the database took too long"
    case .conflict: "other transactions were in the way at every attempt"
    case .outcomeUnknown: "the connection to the database broke during a commit: its outcome is unknown"
    case .closed: "the database is closed"
    case .miscounted(let jobs, let answers): "\(jobs) jobs got \(answers) answers"
    case .failed(let code, let what): "the database failed (code \(code)): \(what)"
    }
  }
}
