/// A step of the schema. Steps go forward only and are never changed once released.
package struct Migration: Sendable, Equatable {
  /// 1, 2, 3 … without a gap.
  package var version: Int
  package var name: String
  /// The statements, parted by semicolons.
  package var sql: String
  /// What follows on PostgreSQL alone.
  package var postgreSQL: String
  /// What follows on SQLite alone.
  package var sqlite: String

  package init(version: Int, name: String, sql: String, postgreSQL: String = "", sqlite: String = "") {
    self.version = version
    self.name = name
    self.sql = sql
    self.postgreSQL = postgreSQL
    self.sqlite = sqlite
  }
}

/// Brings a database's schema to what the program knows.
package struct Migrator: Sendable {
  private let migrations: [Migration]

  package init(_ migrations: [Migration]) {
    self.migrations = migrations.sorted { $0.version < $1.version }
  }

  /// Applies what is missing, all of it or nothing, in one transaction; returns the versions that were applied.
  ///
  /// - Parameter now: kept with each version, seconds since 1970.
  /// - Throws: `schemaTooNew` when a newer program wrote the schema, `schemaMismatch` when an applied version
  ///   has another name here; nothing is changed then.
  package func migrate(_ database: Database, now: Int64) async throws -> [Int] {
    try await database.write { transaction in
      try await Self.prepare(transaction)
      let applied = try await Self.applied(transaction)
      try Self.check(applied, migrations)
      let missing = migrations.filter { migration in !applied.contains { $0.version == migration.version } }
      guard !missing.isEmpty else { return [] }
      try await transaction.script(Self.tables)
      for migration in missing {
        try await transaction.script(migration.sql)
        let special = transaction.dialect == .postgreSQL ? migration.postgreSQL : migration.sqlite
        if !special.isEmpty { try await transaction.script(special) }
        try await transaction.execute(
          "insert into schema_versions (version, name, applied_at) values ($1, $2, $3)",
          [.integer(Int64(migration.version)), .text(migration.name), .integer(now)])
      }
      return missing.map(\.version)
    }
  }

  /// The versions that are still to be applied; reads only.
  ///
  /// - Throws: as `migrate`.
  package func pending(_ database: Database) async throws -> [Int] {
    try await database.read { transaction in
      let applied = try await Self.applied(transaction)
      try Self.check(applied, migrations)
      return migrations.map(\.version).filter { version in !applied.contains { $0.version == version } }
    }
  }

  private static func applied(_ transaction: Transaction) async throws -> [(version: Int, name: String)] {
    let known = try await transaction.first(
      transaction.dialect == .sqlite
        ? "select 1 from sqlite_master where type = 'table' and name = 'schema_versions'"
        : "select 1 from pg_tables where schemaname = current_schema() and tablename = 'schema_versions'"
    ) { $0.int64(0) }
    guard known != nil else { return [] }
    return try await transaction.rows("select version, name from schema_versions order by version") {
      ($0.int(0), $0.string(1))
    }
  }

  /// Nodes that start at once wait for each other here; the later ones find the work done.
  private static func prepare(_ transaction: Transaction) async throws {
    guard transaction.dialect == .postgreSQL else { return }
    // After the wait, what others did meanwhile is to be seen.
    try await transaction.execute("set transaction isolation level read committed")
    try await transaction.allowLongWork()
    let lock = SQLValue.integer(AdvisoryLock.migration)
    // One lock a schema: others in the same database are nobody's to wait for.
    try await transaction.execute(
      "select pg_advisory_xact_lock($1 # hashtextextended(current_setting('search_path'), 0))", [lock])
    let schema = try await transaction.first(
      "select setting, setting = any (select quote_ident(nspname) from pg_namespace) from pg_settings where name = 'search_path'"
    ) { ($0.string(0), $0.bool(1)) }
    if let schema, !schema.1 { try await transaction.script("create schema \(schema.0)") }
  }

  private static func check(
    _ applied: [(version: Int, name: String)], _ migrations: [Migration]
  ) throws(DatabaseError) {
    let known = migrations.last?.version ?? 0
    if let found = applied.last?.version, found > known { throw .schemaTooNew(found: found, known: known) }
    for (version, name) in applied {
      let here = migrations.first { $0.version == version }?.name ?? "missing"
      if here != name { throw .schemaMismatch(version: version, found: name, known: here) }
    }
  }

  private static let tables = """
    create table if not exists schema_versions (
      version integer not null primary key, name text not null, applied_at integer not null) strict;
    create table if not exists meta (name text not null primary key, value text not null) strict;
    """
}
