import Encodings

/// The two bits that Apple keeps for a team on each device, whatever is reinstalled there. All apps of the team share
/// them.
package struct DeviceBits: Sendable, Equatable {
  /// For Bramley: the device has registered a key, in the month of ``lastUpdate``.
  package var bit0: Bool
  /// The operator's own; Bramley passes it on as it is.
  package var bit1: Bool
  /// The month of the last change, as Apple spells it: `2026-11`. Apple tells no day.
  package var lastUpdate: String?

  package init(bit0: Bool, bit1: Bool, lastUpdate: String? = nil) {
    self.bit0 = bit0
    self.bit1 = bit1
    self.lastUpdate = lastUpdate
  }

  /// The month of a time in UTC, as Apple spells it.
  ///
  /// - Parameter seconds: since 1970.
  package static func month(of seconds: Int64) -> String {
    String(CivilTime(secondsSince1970: seconds).rfc3339.prefix(7))
  }

  /// Whether the device had registered in the month of that time.
  ///
  /// - Parameter now: seconds since 1970.
  package func saysKnown(now: Int64) -> Bool { bit0 && lastUpdate == Self.month(of: now) }
}
