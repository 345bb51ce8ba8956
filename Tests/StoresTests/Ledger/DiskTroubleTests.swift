import Admission
import SQL
import Stores
import Testing

@Suite("Disk trouble") struct DiskTroubleTests {
  @Test("A full disk refuses with an error, counts nothing, and the ledger goes on when there is room")
  func full() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.register(0)
    let charges = [Requests.daily(10), Requests.money(5, of: 100)]
    #expect(
      try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 1, charges: charges)).isAdmitted)
    try await fixture.database.write { transaction in
      try await transaction.script("create table filler (b blob)")
      try await transaction.execute("insert into filler values (zeroblob(100000))")
      let pages = try await transaction.first("pragma page_count") { $0.int64(0) } ?? 0
      try await transaction.script("pragma max_page_count = \(pages)")
    }
    // Each request has an id of its own, so that the reservations need a new page at some time.
    var failures = 0
    for number in 2...300 {
      let charge = [Requests.daily(1_000), Requests.money(0, of: 100)]
      do {
        _ = try await fixture.ledger.admit(
          Requests.assertion(0, counter: UInt32(number), id: number, charges: charge))
      } catch {
        #expect(error as? DatabaseError == .diskFull)
        failures += 1
      }
    }
    #expect(failures > 0)
    let reservations = try #require(try await fixture.openReservations())
    #expect(try await fixture.sums("daily") == (reservations, 0))
    try await fixture.database.write {
      try await $0.script("drop table filler; pragma max_page_count = 1000000")
    }
    let again = Requests.assertion(0, counter: 301, id: 301, charges: charges)
    #expect(try await !fixture.ledger.admit(again).isAdmitted)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 302, id: 302)).isAdmitted)
  }

  @Test("A database that only can be read says so on every write, and keys are still found")
  func readOnly() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.register(0)
    let looking = try Database(.readOnlyFile(fixture.path))
    await #expect(throws: DatabaseError.readOnly) {
      try await SQLAdmissionLedger(looking).admit(Requests.assertion(0, counter: 1, id: 1))
    }
    #expect(try await SQLDeviceKeyStore(looking).key(StoreFixture.keyID(0)) != nil)
    // Its failure consumed nothing.
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 2)).isAdmitted)
  }

  @Test("A database of a newer Bramley is refused")
  func schema() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.database.write {
      _ = try await $0.execute("update schema_versions set version = 99 where version = 1")
    }
    await #expect(throws: DatabaseError.schemaTooNew(found: 99, known: Schema.migrations.count)) {
      try await Schema.migrate(fixture.database, now: 1)
    }
  }
}
