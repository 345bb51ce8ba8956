/// Where a database is.
package enum DatabaseLocation: Sendable, Equatable {
  /// In memory: gone when it is closed. For tests.
  case memory
  /// A SQLite file, made when absent (mode 0600).
  case file(String)
  /// A SQLite file that is looked at only.
  case readOnlyFile(String)
  /// A SQLite file, made when absent (mode 0600), in the journal mode that it has: for copies and repairs by one
  /// process alone.
  case plainFile(String)
  /// A PostgreSQL server.
  case postgreSQL(PostgresSettings)

  /// How it is called in an error; without a password.
  var name: String {
    switch self {
    case .memory: ":memory:"
    case .file(let path), .readOnlyFile(let path), .plainFile(let path): path
    case .postgreSQL(let settings): settings.place
    }
  }

  var isReadOnly: Bool {
    if case .readOnlyFile = self { true } else { false }
  }

  /// Whether a write-ahead log is kept beside it.
  var keepsLog: Bool {
    if case .file = self { true } else { false }
  }

  /// What is spoken there.
  package var dialect: Dialect {
    if case .postgreSQL = self { .postgreSQL } else { .sqlite }
  }
}

/// What can be set on a database beyond where it is.
package struct DatabaseTuning: Sendable {
  /// Milliseconds to wait for another process's write lock.
  package var busyTimeout: Int32
  /// Connections that read beside the writer.
  package var readers: Int
  /// The most jobs that share a commit.
  package var batchLimit: Int
  /// Pages in the write-ahead log after which they are moved into the file; 0 never does.
  package var checkpointPages: Int
  /// Nanoseconds of the disk within which an event loop commits a single job in person; 0: none ever does.
  package var loopPatience: Int64
  /// The most pages that the file may have; nil for no limit. A full disk, for tests.
  package var maximumPages: Int?

  package init(
    busyTimeout: Int32 = 5_000, readers: Int = 2, batchLimit: Int = 512, checkpointPages: Int = 1_000,
    loopPatience: Int64 = 2_000_000, maximumPages: Int? = nil
  ) {
    self.busyTimeout = busyTimeout
    self.readers = readers
    self.batchLimit = batchLimit
    self.checkpointPages = checkpointPages
    self.loopPatience = loopPatience
    self.maximumPages = maximumPages
  }

  func pragmas(_ location: DatabaseLocation, _ role: Connection.Role) -> [String] {
    var pragmas = ["pragma foreign_keys = on", "pragma temp_store = memory"]
    switch (location, role) {
    case (.memory, _), (.plainFile, _): break
    case (.file, .writer):
      // FULL syncs the log at every commit: what was answered survives a power cut. Group commit pays for it.
      pragmas += [
        "pragma journal_mode = wal", "pragma synchronous = full", "pragma cache_size = -32768",
        "pragma journal_size_limit = 67108864",
      ]
    default: pragmas += ["pragma query_only = on", "pragma cache_size = -4096"]
    }
    if let maximumPages, role == .writer { pragmas.append("pragma max_page_count = \(maximumPages)") }
    return pragmas
  }
}
