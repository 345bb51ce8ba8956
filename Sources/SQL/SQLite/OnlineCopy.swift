import CSQLite

/// A copy of a SQLite database while others use it (sqlite.org/backup.html).
package enum OnlineCopy {
  /// The rows of each table.
  package typealias Counts = [String: Int64]

  /// Copies what is committed at this moment, and checks the copy. The writer of the source goes on meanwhile.
  ///
  /// - Parameters:
  ///   - source: a file, in whatever journal mode.
  ///   - target: a file that is not there yet; it is made with mode 0600, and is one file without a log.
  ///   - emptied: tables that lose their rows in the copy, where it has them, before it is checked.
  /// - Returns: the rows of each table of the source at that moment.
  /// - Throws: `corrupt` when the copy does not hold what the source does; what is at `target` is of no use then.
  package static func copy(
    _ source: String, to target: String, emptying emptied: [String] = []
  ) throws(DatabaseError) -> Counts {
    let from = try Connection(.readOnlyFile(source), role: .reader, tuning: DatabaseTuning())
    // One snapshot for the counts and the pages.
    try from.begin(immediate: false)
    defer { from.rollback() }
    let counts = try from.tableCounts()
    // Not by the way of `.file`: that would begin a log beside it.
    let to = try Connection(.plainFile(target), role: .writer, tuning: DatabaseTuning())
    try to.copyPages(from: from)
    // The first octets say that a log belongs to it, as they do in the source.
    try to.leaveLogMode()
    guard try to.tableCounts() == counts else {
      throw .corrupt("the copy has other rows than the database")
    }
    // A backup may be older than one of them.
    for table in emptied where counts[table] != nil { try to.script("delete from \(table)") }
    try to.checkIntegrity()
    return counts
  }

  /// Looks through a whole file: its pages, its indexes, its references. Returns the rows of each table.
  ///
  /// - Throws: `corrupt` with the first thing that was found.
  @discardableResult package static func check(_ file: String) throws(DatabaseError) -> Counts {
    let connection = try Connection(.readOnlyFile(file), role: .reader, tuning: DatabaseTuning())
    try connection.begin(immediate: false)
    defer { connection.rollback() }
    try connection.checkIntegrity()
    return try connection.tableCounts()
  }

  /// Moves everything that a file's log has into the file and removes the log, so that the file can be replaced.
  ///
  /// - Throws: `busy` when another process has it open.
  package static func foldLog(_ file: String) throws(DatabaseError) {
    var tuning = DatabaseTuning()
    tuning.busyTimeout = 500
    let connection = try Connection(.plainFile(file), role: .writer, tuning: tuning)
    try connection.leaveLogMode()
  }
}

extension Connection {
  /// Ends the mode in which a log stands beside the file.
  fileprivate func leaveLogMode() throws(DatabaseError) {
    let statement = try statement("pragma journal_mode = delete")
    defer { statement.reset() }
    guard try statement.step(), statement.string(0) == "delete" else { throw .busy }
  }

  fileprivate func tableCounts() throws(DatabaseError) -> OnlineCopy.Counts {
    var names: [String] = []
    let tables = try statement(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'")
    while try tables.step() { names.append(tables.string(0)) }
    tables.reset()
    var counts: OnlineCopy.Counts = [:]
    for name in names {
      let quoted = name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      let rows = try statement("select count(*) from \"\(quoted)\"")
      if try rows.step() { counts[name] = rows.int64(0) }
      rows.reset()
    }
    return counts
  }

  fileprivate func checkIntegrity() throws(DatabaseError) {
    let pages = try statement("pragma integrity_check(1)")
    defer { pages.reset() }
    guard try pages.step() else { throw .corrupt("it cannot be checked") }
    let verdict = pages.string(0)
    guard verdict == "ok" else { throw .corrupt(verdict) }
    let references = try statement("pragma foreign_key_check")
    defer { references.reset() }
    if try references.step() { throw .corrupt("rows of \(references.string(0)) refer to none") }
  }
}
