import CSQLite
import Glibc

/// One SQLite connection. It belongs to one thread at a time; nothing in it is guarded.
@safe final class Connection {
  /// How a connection is used.
  enum Role {
    case writer
    case reader
  }

  private let handle: OpaquePointer
  private let busyTimeout: Int32
  private var cache: [String: Statement] = [:]
  /// Whether a statement that can write was run since this was last cleared.
  var wrote = false
  /// Pages in the write-ahead log after the last commit.
  private(set) var logPages = 0

  /// - Throws: `cannotOpen`, and what the first look into the file shows.
  init(_ location: DatabaseLocation, role: Role, tuning: DatabaseTuning) throws(DatabaseError) {
    _ = Self.withoutStatistics
    var opened: OpaquePointer?
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    flags |= role == .writer && !location.isReadOnly ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let path: String
    switch location {
    case .memory:
      path = ":memory:"
      flags |= SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
    case .file(let file), .plainFile(let file):
      path = file
      if role == .writer {
        flags |= SQLITE_OPEN_CREATE
        Self.createPrivately(file)
      }
    case .readOnlyFile(let file):
      path = file
    case .postgreSQL:
      throw .cannotOpen(path: "postgresql", reason: "this is no file")
    }
    let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened = unsafe opened else {
      let reason = unsafe String(cString: sqlite3_errstr(code))
      unsafe sqlite3_close_v2(opened)
      throw .cannotOpen(path: path, reason: reason)
    }
    unsafe handle = opened
    busyTimeout = tuning.busyTimeout
    unsafe sqlite3_busy_timeout(handle, busyTimeout)
    // In the place of SQLite's own, which moves the log inside a commit.
    unsafe sqlite3_wal_hook(handle, logHasGrown, Unmanaged.passUnretained(self).toOpaque())
    do throws(DatabaseError) {
      for pragma in tuning.pragmas(location, role) { try script(pragma) }
    } catch {
      switch error {
      case .cannotOpen(_, let reason): throw .cannotOpen(path: path, reason: reason)
      default: throw error
      }
    }
  }

  deinit {
    cache = [:]
    unsafe sqlite3_close_v2(handle)
  }

  /// The prepared statement of that text, kept for the life of the connection.
  func statement(_ sql: String) throws(DatabaseError) -> Statement {
    if let kept = cache[sql] { return kept }
    let made = try prepare(sql)
    // Texts are literals, so the cache is bounded by the program; the cap guards against a text made of values.
    if cache.count >= 500 { cache = [:] }
    cache[sql] = made
    return made
  }

  /// Runs every statement of a text without parameters.
  func script(_ sql: String) throws(DatabaseError) {
    wrote = true
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw error(code) }
  }

  /// Whether BEGIN is in force: some errors end a transaction by themselves.
  var inTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  /// The rows that the last statement changed.
  var changes: Int { Int(unsafe sqlite3_changes(handle)) }

  /// The key of the last row that was inserted into a table with a rowid.
  var lastInsertedID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  func begin(immediate: Bool) throws(DatabaseError) {
    try statement(immediate ? "begin immediate" : "begin").run()
    wrote = false
  }

  /// Throws `busy` at once when another process writes.
  func beginWithoutWaiting() throws(DatabaseError) {
    unsafe sqlite3_busy_timeout(handle, 0)
    defer { unsafe sqlite3_busy_timeout(handle, busyTimeout) }
    try begin(immediate: true)
  }

  func commit() throws(DatabaseError) {
    try statement("commit").run()
  }

  func rollback() {
    wrote = false
    // An error may have rolled back already, then there is nothing to end.
    if inTransaction { try? statement("rollback").run() }
  }

  /// Moves as much of the write-ahead log into the file as nobody reads any more. What cannot be moved now is
  /// moved the next time.
  func checkpoint() {
    logPages = 0
    _ = unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  fileprivate func noteLog(pages: Int) { logPages = pages }

  /// Changes whenever another connection has committed.
  func dataVersion() throws(DatabaseError) -> Int64 {
    let statement = try statement("pragma data_version")
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : 0
  }

  /// Puts every page of another connection's database in the place of this one's, in one step: where a log
  /// stands beside the source that keeps no writer waiting.
  func copyPages(from source: Connection) throws(DatabaseError) {
    guard let copy = unsafe sqlite3_backup_init(handle, "main", source.handle, "main") else {
      throw error(unsafe sqlite3_errcode(handle))
    }
    let step = unsafe sqlite3_backup_step(copy, -1)
    let end = unsafe sqlite3_backup_finish(copy)
    guard step == SQLITE_DONE, end == SQLITE_OK else { throw error(step == SQLITE_DONE ? end : step) }
  }

  func error(_ code: Int32) -> DatabaseError {
    .of(code, unsafe String(cString: sqlite3_errmsg(handle)))
  }

  private func prepare(_ sql: String) throws(DatabaseError) -> Statement {
    var made: OpaquePointer?
    let sql = Parameters.numbered(sql)
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
    guard code == SQLITE_OK, let made = unsafe made else { throw error(code) }
    return unsafe Statement(made, of: self)
  }

  private static let withoutStatistics: Int32 = bramley_sqlite_without_statistics()

  /// The file holds secrets: it is made readable for its owner alone, and SQLite gives its journal the same mode.
  private static func createPrivately(_ path: String) {
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }
}

/// SQLite tells a connection how many pages the log has after a commit. In a function of its own, not a closure: a C
/// callback must belong to no actor (SE-0423).
private func logHasGrown(
  _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ pages: Int32
) -> Int32 {
  if let context = unsafe context {
    unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().noteLog(pages: Int(pages))
  }
  return SQLITE_OK
}
