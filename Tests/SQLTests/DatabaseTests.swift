import Foundation
import Glibc
import SQL
import Synchronization
import Testing

@Suite("Database") struct DatabaseTests {
  struct Refused: Error, Equatable {}

  private func numbers(_ place: Place, tuning: DatabaseTuning = DatabaseTuning()) async throws -> TestDatabase
  {
    let test = try await TestDatabase(place, tuning: tuning)
    try await test.database.write {
      try await $0.script("create table numbers (id integer primary key, n integer not null unique) strict")
    }
    return test
  }

  private func sum(_ database: Database) async throws -> [Int64] {
    try await database.read { try await $0.rows("select n from numbers order by n") { $0.int64(0) } }
  }

  @Test("Values of every type come back as they went in", arguments: Place.allCases)
  func types(place: Place) async throws {
    let test = try await TestDatabase(place)
    let database = test.database
    // PostgreSQL's texts have no NUL, and say so.
    let odd = place == .postgreSQL ? "héllo x" : "héllo\u{0}x"
    try await database.write {
      try await $0.script("create table v (i integer, r real, t text, b blob, e blob, z text, n text) strict")
      try await $0.execute(
        "insert into v values ($1, $2, $3, $4, $5, $6, $7)",
        [.integer(.min), .real(0.1), .text(odd), .blob([0, 255]), .blob([]), "", nil])
    }
    let row = try await database.read { transaction in
      try await transaction.first("select i, r, t, b, e, z, n from v") {
        (
          $0.int64(0), $0.double(1), $0.string(2), $0.bytes(3), $0.optionalBytes(4), $0.optionalString(5),
          $0.optionalString(6)
        )
      }
    }
    let (integer, real, text, blob, empty, blank, none) = try #require(row)
    #expect(integer == .min)
    #expect(real == 0.1)
    #expect(text == odd)
    #expect(blob == [0, 255])
    #expect(empty == [])
    #expect(blank == "")
    #expect(none == nil)
  }

  @Test("Parameters go by their number, not by their first appearance", arguments: Place.allCases)
  func parameters(place: Place) async throws {
    let test = try await TestDatabase(place)
    let row = try await test.database.read {
      try await $0.first("select $3, $1, '$2', $1 + $2", [.integer(1), .integer(20), .integer(300)]) {
        [$0.string(0), $0.string(1), $0.string(2), $0.string(3)]
      }
    }
    #expect(row == ["300", "1", "$2", "21"])
  }

  @Test("Many tasks write at once and nothing is lost", arguments: Place.allCases)
  func parallel(place: Place) async throws {
    let test = try await numbers(place)
    let database = test.database
    try await withThrowingTaskGroup { group in
      for n in Int64(0)..<500 {
        group.addTask {
          try await database.write {
            _ = try await $0.execute("insert into numbers (n) values ($1)", [.integer(n)])
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await sum(database) == Array(0..<500))
  }

  @Test("A job that fails takes no other with it, before or after it wrote", arguments: Place.allCases)
  func failures(place: Place) async throws {
    let test = try await numbers(place)
    let database = test.database
    let outcomes = await withTaskGroup(of: (Int64, Bool).self) { group in
      for n in Int64(0)..<300 {
        group.addTask {
          do {
            try await database.write { transaction in
              if n % 10 == 3 { throw Refused() }
              try await transaction.execute("insert into numbers (n) values ($1)", [.integer(n)])
              if n % 10 == 7 { throw Refused() }
            }
            return (n, true)
          } catch {
            #expect(error as? Refused == Refused())
            return (n, false)
          }
        }
      }
      return await group.reduce(into: [Int64: Bool]()) { $0[$1.0] = $1.1 }
    }
    for n in Int64(0)..<300 { #expect(outcomes[n] == ![3, 7].contains(n % 10)) }
    #expect(try await sum(database) == (0..<300).filter { ![3, 7].contains($0 % 10) })
  }

  @Test("A broken constraint names its kind and the database works on", arguments: Place.allCases)
  func constraints(place: Place) async throws {
    let test = try await numbers(place)
    try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (1)") }
    await #expect {
      try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (1)") }
    } throws: {
      if case DatabaseError.constraint(.unique, _) = $0 { true } else { false }
    }
    await #expect {
      try await test.database.write { _ = try await $0.execute("insert into numbers (n) values ($1)", [nil]) }
    } throws: {
      if case DatabaseError.constraint(.notNull, _) = $0 { true } else { false }
    }
    #expect(try await sum(test.database) == [1])
  }

  @Test("A full disk is told as such, and the database recovers when there is room")
  func full() async throws {
    let test = try await numbers(.disk, tuning: DatabaseTuning(maximumPages: 12))
    try await test.database.write { try await $0.script("create table fill (b blob) strict") }
    let payload = [UInt8](repeating: 7, count: 20_000)
    try await test.database.write {
      _ = try await $0.execute("insert into fill values ($1)", [.blob(payload)])
    }
    await #expect(throws: DatabaseError.diskFull) {
      try await test.database.write {
        _ = try await $0.execute("insert into numbers (n) values (1)")
        _ = try await $0.execute("insert into fill values ($1)", [.blob(payload)])
      }
    }
    #expect(try await sum(test.database) == [])
    try await test.database.write { _ = try await $0.execute("delete from fill") }
    try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (2)") }
    #expect(try await sum(test.database) == [2])
  }

  @Test("A database that cannot be written says so, and reads work on")
  func readOnly() async throws {
    let test = try await numbers(.disk)
    try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (5)") }
    let looking = try Database(.readOnlyFile(test.path))
    await #expect(throws: DatabaseError.readOnly) {
      try await looking.write { _ = try await $0.execute("insert into numbers (n) values (6)") }
    }
    #expect(try await sum(looking) == [5])
  }

  @Test("A lock held elsewhere is busy after the time-out, and no longer when it is let go")
  func busy() async throws {
    let test = try await numbers(.disk, tuning: DatabaseTuning(busyTimeout: 50))
    let other = try Database(.file(test.path))
    let holds = Atomic(false)
    let letGo = Atomic(false)
    async let held: Void = other.write { transaction in
      try await transaction.execute("insert into numbers (n) values (1)")
      holds.store(true, ordering: .releasing)
      while !letGo.load(ordering: .acquiring) { usleep(1_000) }
    }
    while !holds.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
    await #expect(throws: DatabaseError.busy) {
      try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (2)") }
    }
    letGo.store(true, ordering: .releasing)
    try await held
    try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (3)") }
    #expect(try await sum(test.database) == [1, 3])
  }

  @Test("What is no database, or is nowhere, does not open")
  func cannotOpen() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    try Data(repeating: 65, count: 8_192).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect {
      _ = try Database(.file(path))
    } throws: {
      if case DatabaseError.corrupt = $0 { true } else { false }
    }
    #expect {
      _ = try Database(.file("/nowhere/at/all.db"))
    } throws: {
      if case DatabaseError.cannotOpen(path: "/nowhere/at/all.db", _) = $0 { true } else { false }
    }
  }

  @Test("The file is its owner's alone")
  func mode() async throws {
    let test = try await numbers(.disk)
    for suffix in ["", "-wal", "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: test.path + suffix)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test("A closed database finishes what it took and refuses what comes")
  func closing() async throws {
    let test = try await numbers(.disk)
    async let last: Void = test.database.write {
      _ = try await $0.execute("insert into numbers (n) values (1)")
    }
    try await last
    test.database.close()
    await #expect(throws: DatabaseError.closed) {
      try await test.database.write { _ = try await $0.execute("insert into numbers (n) values (2)") }
    }
    #expect(try await sum(try Database(.file(test.path))) == [1])
  }
}
