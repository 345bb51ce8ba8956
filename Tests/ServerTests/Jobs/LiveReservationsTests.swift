import Admission
import SQL
import Stores
import Testing

@testable import Server

@Suite("Leases of running calls") struct LiveReservationsTests {
  private static let start = LiveReservations.Instant(wall: 1_800_000_000_000, uptime: 7_000_000_000)
  private let id = [UInt8](repeating: 3, count: 16)

  /// So many seconds later on each clock.
  private func later(wall: Int64, uptime: Int64) -> LiveReservations.Instant {
    LiveReservations.Instant(
      wall: Self.start.wall + wall * 1_000, uptime: Self.start.uptime + uptime * 1_000_000_000)
  }

  @Test(
    "RULES §5.5: a lease is renewed at its half-life, whatever the wall clock does meanwhile",
    arguments: [
      (wall: 299, uptime: 299, isRenewed: false), (301, 301, true),
      // It went back an hour, or stood; it went ahead, or the machine slept.
      (-3_600, 301, true), (0, 301, true), (-3_600, 299, false), (3_600, 0, true),
    ] as [(Int64, Int64, Bool)])
  func halfLife(wall: Int64, uptime: Int64, isRenewed: Bool) async throws {
    let database = try Database(.memory)
    defer { database.close() }
    try await Schema.migrate(database, now: 1)
    let ledger = SQLAdmissionLedger(database)
    let live = LiveReservations(ledger)
    _ = try await ledger.admit(
      AdmissionRequest(
        id: id, evidence: .none, expectation: KeyExpectation(apps: [], anchors: []), now: Self.start.wall,
        charges: [Charge(subject: .everyone, rule: "r", amount: 1, limit: .inFlight(9))], lease: 1,
        address: ""))
    await live.begin(id, at: Self.start)
    let now = later(wall: wall, uptime: uptime)
    #expect(await live.renew(at: now) == 0)
    let lease = try await database.read {
      try await $0.first("select lease from reservations") { $0.int64(0) }
    }
    #expect(
      lease == (isRenewed ? max(now.wall + LiveReservations.lease, Self.start.wall + 1) : Self.start.wall + 1)
    )
    // Not again before the next half-life.
    #expect(await live.renew(at: now) == 0)
    await live.end(id)
    #expect(await live.count == 0)
  }
}
