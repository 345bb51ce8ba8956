import Admission

/// Settlements that the database did not take, because it was away: they are tried again until it does. Each is
/// done once at most, since it ends its reservation.
actor OwedSettlements {
  /// More than this are left to the sweep, which books the whole hold.
  static let capacity = 20_000

  private let ledger: any AdmissionLedger
  private var owed: [Settlement] = []

  init(_ ledger: any AdmissionLedger) { self.ledger = ledger }

  var count: Int { owed.count }

  /// Keeps it for later; false when there are too many.
  func add(_ settlement: Settlement) -> Bool {
    guard owed.count < Self.capacity else { return false }
    owed.append(settlement)
    return true
  }

  /// Tries all in their order, up to the first that the database does not take; how many were taken.
  func pay() async -> Int {
    var taken = 0
    while let next = owed.first {
      owed.removeFirst()
      do {
        // False: a sweep or a lost answer was earlier. There is no more to do.
        try await ledger.settle(next)
        taken += 1
      } catch {
        owed.insert(next, at: 0)
        break
      }
    }
    return taken
  }
}
