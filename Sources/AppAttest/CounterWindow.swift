/// Which counters of a key were accepted: each value once, also when parallel requests arrive out of order
/// (RULES §1.5).
///
/// It remembers the highest counter and, as a map of bits, which of the 128 below it were accepted. The map
/// is kept whole whatever width is asked for, so that the width may change without reviving a counter.
package struct CounterWindow: Sendable, Equatable {
  /// The greatest width.
  package static let maximumWidth = 128

  /// What became of a counter.
  package enum Acceptance: Sendable, Equatable {
    /// Accepted for the first and last time; `outOfOrder` when a higher one came before.
    case accepted(outOfOrder: Bool)
    /// Accepted before, zero, or too far below the highest.
    case refused
  }

  /// The highest counter that was accepted; 0 when none was.
  package private(set) var highest: UInt32
  /// Bit i: `highest - 1 - i` was accepted, for i below 64.
  package private(set) var near: UInt64
  /// Bit i: `highest - 65 - i` was accepted, for i below 64.
  package private(set) var far: UInt64

  /// The window of a key that has asserted nothing, or what was stored of one.
  package init(highest: UInt32 = 0, near: UInt64 = 0, far: UInt64 = 0) {
    self.highest = highest
    self.near = near
    self.far = far
  }

  /// Accepts a counter, if it may be.
  ///
  /// - Parameters:
  ///   - counter: as the signed authenticator data says; 0 is never accepted.
  ///   - width: how far below the highest one may come; 0 is strict, 128 the most (more is taken as that).
  package mutating func accept(_ counter: UInt32, width: Int) -> Acceptance {
    guard counter > 0 else { return .refused }
    if counter > highest {
      advance(by: counter - highest)
      highest = counter
      return .accepted(outOfOrder: false)
    }
    guard counter < highest else { return .refused }
    let place = Int(highest - counter) - 1
    guard place < min(width, Self.maximumWidth) else { return .refused }
    let bit: UInt64 = 1 << UInt64(place % 64)
    if place < 64 {
      guard near & bit == 0 else { return .refused }
      near |= bit
    } else {
      guard far & bit == 0 else { return .refused }
      far |= bit
    }
    return .accepted(outOfOrder: true)
  }

  /// Moves both words up; what was the highest becomes a bit. Swift's `<<` gives 0 for 64 and more.
  private mutating func advance(by distance: UInt32) {
    let distance = UInt64(distance)
    if distance <= 64 {
      far = far << distance | near >> (64 - distance)
      near = near << distance | 1 << (distance - 1)
    } else {
      far = distance <= 128 ? near << (distance - 64) | 1 << (distance - 65) : 0
      near = 0
    }
  }
}
