import Gateway

/// What an admitted request holds until it is settled.
package struct Reservation: Sendable, Equatable {
  /// The request's id.
  package var id: [UInt8]
  /// The row of the key; nil without one.
  package var device: Int64?
  /// When the sweep may settle it, milliseconds since 1970 by the clock of ``AdmissionBook/leaseTime(now:)``.
  package var lease: Int64
  /// The rows that settling and giving back go to, and no others (RULES §5.6).
  package var lines: [ReservedLine]
  /// How the sweep ends it; nil where nothing is known of the call but its hold.
  package var ending: ReservationEnding?

  package init(
    id: [UInt8], device: Int64?, lease: Int64, lines: [ReservedLine], ending: ReservationEnding? = nil
  ) {
    self.id = id
    self.device = device
    self.lease = lease
    self.lines = lines
    self.ending = ending
  }
}

/// A row that a reservation touches.
package struct ReservedLine: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    /// A running request: ends with the reservation.
    case inFlight = 0
    /// Counted already; given back only where RULES §5.4 allows it.
    case count = 1
    /// Held until the actual amount is known.
    case money = 2
    case tokens = 3
    case images = 4

    /// What is held; nil for what is not.
    var unit: QuotaUnit? {
      switch self {
      case .inFlight, .count: nil
      case .money: .money
      case .tokens: .tokens
      case .images: .images
      }
    }
  }

  /// Where the book keeps the row.
  package var slot: Int
  package var kind: Kind
  package var amount: Int64
  /// The limit whose shares an operator is told of; nil for none.
  package var alarmLimit: Int64?

  package init(slot: Int, kind: Kind, amount: Int64, alarmLimit: Int64? = nil) {
    self.slot = slot
    self.kind = kind
    self.amount = amount
    self.alarmLimit = alarmLimit
  }
}
