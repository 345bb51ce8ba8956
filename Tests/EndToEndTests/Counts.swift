import SQL
import Testing

/// What a database has of requests under the rule `daily`.
struct Counts: Equatable {
  /// What the rule has counted.
  let admitted: Int
  /// Rows of usage.
  let settled: Int
  /// Reservations that are not settled.
  let open: Int

  /// Of a SQLite file, once it is known to be sound.
  init(ofFile file: String) async throws {
    try OnlineCopy.check(file)
    let database = try Database(.readOnlyFile(file))
    defer { database.close() }
    try await self.init(database)
  }

  init(_ database: Database) async throws {
    let row = try await database.read { transaction in
      try await transaction.first(
        """
        select (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'daily'),
          (select count(*) from usage), (select count(*) from reservations)
        """
      ) { [$0.int(0), $0.int(1), $0.int(2)] }
    }
    let counts = try #require(row)
    (admitted, settled, open) = (counts[0], counts[1], counts[2])
  }
}
