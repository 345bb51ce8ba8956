import Admission

/// The reservations of calls that run in this process. A job renews their leases, so that the sweep of any
/// node leaves them alone (RULES §5.5).
actor LiveReservations {
  /// How long a lease is, milliseconds.
  static let lease: Int64 = 600_000

  private let ledger: any AdmissionLedger
  /// When each lease began or was renewed last.
  private var renewed: [[UInt8]: Instant] = [:]

  init(_ ledger: any AdmissionLedger) { self.ledger = ledger }

  var count: Int { renewed.count }

  /// An instant on both clocks of the node. Neither is the one that leases end by: the wall clock may be wrong
  /// and step, and the other may stand while the machine sleeps. So a lease is past its half-life when one says so.
  struct Instant: Sendable {
    /// Milliseconds since 1970.
    var wall: Int64
    /// Nanoseconds since some instant, never going back.
    var uptime: Int64
  }

  func begin(_ id: [UInt8], at instant: Instant) { renewed[id] = instant }

  func end(_ id: [UInt8]) { renewed[id] = nil }

  /// Renews every lease that is past its half-life; how many could not be.
  func renew(at instant: Instant) async -> Int {
    var failed = 0
    for (id, last) in renewed where Self.isPastHalfLife(last, at: instant) {
      do {
        // False: it is settled already. Its call notices when it settles.
        if try await ledger.renew(id, for: Self.lease, now: instant.wall), renewed[id] != nil {
          renewed[id] = instant
        }
      } catch {
        failed += 1
      }
    }
    return failed
  }

  private static func isPastHalfLife(_ last: Instant, at now: Instant) -> Bool {
    now.wall - last.wall > lease / 2 || (now.uptime - last.uptime) / 1_000_000 > lease / 2
  }
}
