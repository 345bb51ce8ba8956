import System

/// What a database's connections sent, for tests that hold how often it is waited for.
package final class PostgresTraffic: Sendable {
  package struct Counts: Sendable, Equatable {
    /// Flights: each is sent as a whole, and all its answers are waited for.
    package var roundTrips: Int
    package var syncs: Int

    package init(roundTrips: Int = 0, syncs: Int = 0) {
      self.roundTrips = roundTrips
      self.syncs = syncs
    }
  }

  private let kept = Locked(Counts())

  package var counts: Counts { kept.withLock { $0 } }

  func note(syncs: Int) {
    kept.withLock {
      $0.roundTrips += 1
      $0.syncs += syncs
    }
  }
}
