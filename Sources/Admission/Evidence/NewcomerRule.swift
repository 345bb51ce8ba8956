/// Which keys are newcomers, whose allowance is smaller (RULES §1.10): a phone that installs the app again comes with
/// a new key. A signal of Apple's makes a key a newcomer for longer; it never refuses one by itself.
package struct NewcomerRule: Sendable, Equatable {
  /// Keys that were registered after this are; seconds since 1970.
  package var registeredAfter: Int64
  /// Whether a key is one for as long as nothing is known of its device's risk.
  package var untilRiskKnown: Bool
  /// A key whose device made more keys than this in 30 days is one; nil for none.
  package var riskAbove: Int64?
  /// Whether a key is one whose device had registered before, as DeviceCheck says.
  package var knownDevice: Bool

  package init(
    registeredAfter: Int64, untilRiskKnown: Bool = false, riskAbove: Int64? = nil, knownDevice: Bool = false
  ) {
    self.registeredAfter = registeredAfter
    self.untilRiskKnown = untilRiskKnown
    self.riskAbove = riskAbove
    self.knownDevice = knownDevice
  }

  /// Whether the key is a newcomer.
  package func covers(_ device: DeviceState) -> Bool {
    if device.registeredAt > registeredAfter { return true }
    if knownDevice, device.isKnownDevice == true { return true }
    guard let metric = device.riskMetric else { return untilRiskKnown }
    return riskAbove.map { metric > $0 } ?? false
  }
}
