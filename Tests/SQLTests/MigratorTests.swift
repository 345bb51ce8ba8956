import BramleyTesting
import SQL
import Testing

@Suite("Migrator") struct MigratorTests {
  private let first = Migration(version: 1, name: "things", sql: "create table things (n integer) strict")
  private let second = Migration(
    version: 2, name: "more", sql: "alter table things add column m integer; create index i on things (m);")

  @Test("Applies what is missing, once", arguments: Place.allCases)
  func applies(place: Place) async throws {
    let test = try await TestDatabase(place)
    #expect(try await Migrator([first]).pending(test.database) == [1])
    #expect(try await Migrator([first]).migrate(test.database, now: 7) == [1])
    #expect(try await Migrator([second, first]).pending(test.database) == [2])
    #expect(try await Migrator([second, first]).migrate(test.database, now: 8) == [2])
    #expect(try await Migrator([first, second]).migrate(test.database, now: 9) == [])
    let times = try await test.database.read {
      try await $0.rows("select applied_at from schema_versions order by version") { $0.int64(0) }
    }
    #expect(times == [7, 8])
  }

  @Test("A failing step leaves nothing behind", arguments: Place.allCases)
  func atomic(place: Place) async throws {
    let test = try await TestDatabase(place)
    let broken = Migration(
      version: 2, name: "broken", sql: "create table x (n integer); insert into y values (1)")
    await #expect(throws: DatabaseError.self) {
      try await Migrator([first, broken]).migrate(test.database, now: 1)
    }
    let tables = try await test.database.read {
      let all =
        $0.dialect == .sqlite
        ? "select name from sqlite_master"
        : "select tablename from pg_tables where schemaname = current_schema()"
      return try await $0.rows(all) { $0.string(0) }
    }
    #expect(tables == [])
  }

  @Test("A newer schema is refused with what to do, and left alone", arguments: Place.allCases)
  func newer(place: Place) async throws {
    let test = try await TestDatabase(place)
    _ = try await Migrator([first, second]).migrate(test.database, now: 1)
    await #expect(throws: DatabaseError.schemaTooNew(found: 2, known: 1)) {
      try await Migrator([first]).migrate(test.database, now: 2)
    }
    await #expect(throws: DatabaseError.schemaTooNew(found: 2, known: 1)) {
      try await Migrator([first]).pending(test.database)
    }
    #expect("\(DatabaseError.schemaTooNew(found: 2, known: 1))".contains("run that version or a later one"))
  }

  @Test("An applied step under another name is refused", arguments: Place.allCases)
  func renamed(place: Place) async throws {
    let test = try await TestDatabase(place)
    _ = try await Migrator([first]).migrate(test.database, now: 1)
    let other = Migration(version: 1, name: "others", sql: "")
    await #expect(throws: DatabaseError.schemaMismatch(version: 1, found: "things", known: "others")) {
      try await Migrator([other]).migrate(test.database, now: 2)
    }
  }

  @Test(
    "a change of the schema takes longer than a statement may, and another node waits for it",
    TestPostgres.required)
  func longWork() async throws {
    let test = try await TestDatabase(.postgreSQL, statementTimeout: 100)
    // Longer than a statement may take and the five seconds after which we give a connection up.
    let slow = Migration(
      version: 1, name: "slow", sql: "create table slow (id integer not null primary key) strict",
      postgreSQL: "select pg_sleep(5.5)")
    async let one = Migrator([slow]).migrate(test.database, now: 1)
    async let other = Migrator([slow]).migrate(test.database, now: 1)
    let applied = try await [one, other]
    #expect(applied.flatMap { $0 } == [1])
    // The patience ends with the transaction.
    await #expect(throws: DatabaseError.self) {
      try await test.database.write { try await $0.execute("select pg_sleep(2)") }
    }
  }

  @Test("RULES §1.6: a database keeps its mark", arguments: Place.allCases)
  func mark(place: Place) async throws {
    let test = try await TestDatabase(place)
    _ = try await Migrator([first]).migrate(test.database, now: 1)
    #expect(try await test.database.meta("mode") == nil)
    try await test.database.setMeta("mode", "dev")
    try await test.database.setMeta("mode", "dev2")
    #expect(try await test.database.meta("mode") == "dev2")
  }
}
