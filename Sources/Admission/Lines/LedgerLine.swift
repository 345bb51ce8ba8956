/// Whose row a line is, after the evidence was looked up.
package enum LineSubject: Sendable, Hashable {
  /// A registered key, by its row's integer key.
  case device(Int64)
  case named(Kind, String)

  /// Rows keep the number.
  package enum Kind: Int64, Sendable {
    case user = 1
    case app = 2
    case address = 3
    case everyone = 4
    case debugToken = 5
    /// Named by an HMAC of the identity, so that an account that was deleted and made again finds its counts.
    case person = 6
  }
}

/// A row of the ledger: what one subject has used, and what of it is only held, under one rule in one period.
/// Counts, money, bursts and running requests all are such rows.
package struct LedgerLine: Sendable, Equatable {
  /// Where the book keeps the row; equal for equal rows.
  package var slot: Int
  /// Requests or pico-dollars; for a burst the theoretical arrival time in nanoseconds since 1970.
  package var used: Int64
  /// Pico-dollars that reservations hold, or the requests that run.
  package var held: Int64
  /// The period's UTC bounds, milliseconds since 1970; 0 for rows without one.
  package var start: Int64
  package var end: Int64
  /// The amount up to which alarms told of what is used.
  package var alarmed: Int64

  package init(
    slot: Int, used: Int64 = 0, held: Int64 = 0, start: Int64 = 0, end: Int64 = 0, alarmed: Int64 = 0
  ) {
    self.slot = slot
    self.used = used
    self.held = held
    self.start = start
    self.end = end
    self.alarmed = alarmed
  }
}

extension Int64 {
  /// Sum and difference that stay at the range's end: amounts come from configurations and bodies, and must
  /// never trap nor wrap into an allowance.
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }

  func saturatingMultiply(_ other: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}
