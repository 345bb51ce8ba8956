import Admission

/// The reservations of calls that run in this process. A job renews their leases, so that the sweep of any
/// node leaves them alone (RULES §5.5).
actor LiveReservations {
  /// How long a lease is, milliseconds.
  static let lease: Int64 = 600_000

  private let ledger: any AdmissionLedger
  private var leases: [[UInt8]: Int64] = [:]

  init(_ ledger: any AdmissionLedger) { self.ledger = ledger }

  var count: Int { leases.count }

  func begin(_ id: [UInt8], leaseUntil: Int64) { leases[id] = leaseUntil }

  func end(_ id: [UInt8]) { leases[id] = nil }

  /// Renews every lease that is past its half-life; how many could not be.
  func renew(now: Int64) async -> Int {
    var failed = 0
    for (id, until) in leases where until - now < Self.lease / 2 {
      do {
        let next = now + Self.lease
        // False: it is settled already. Its call notices when it settles.
        if try await ledger.renew(id, until: next), leases[id] != nil { leases[id] = next }
      } catch {
        failed += 1
      }
    }
    return failed
  }
}
