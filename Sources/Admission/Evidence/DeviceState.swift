package import AppAttest

/// A registered key as the ledger sees it: what an admission compares and changes.
package struct DeviceState: Sendable, Equatable {
  package enum Status: Int64, Sendable {
    case live = 0
    /// Ended for good; its app registers a new key.
    case revoked = 1
    /// Kept, and refused.
    case banned = 2
  }

  /// The row's integer key.
  package var id: Int64
  package var keyID: [UInt8]
  package var status: Status
  package var appID: String
  /// `environment/app id`, as `KeyExpectation.apps` spells it.
  package var acceptance: String
  /// SHA-256 of the trust anchor's DER.
  package var anchor: [UInt8]
  /// The key's current user (RULES §1.9).
  package var userID: String?
  /// The person behind that user (RULES §4.3).
  package var person: String?
  /// Until when that user is banned, milliseconds since 1970: so long the key is refused without another's access
  /// token.
  package var userBannedUntil: Int64?
  package var counters: CounterWindow
  /// Seconds since 1970.
  package var registeredAt: Int64
  /// What Apple's newest receipt says of the device: about how many keys it attested for this app in 30 days. nil
  /// until it is known, and until then a newcomer's allowance holds (RULES §1.10). A signal, never alone a refusal.
  package var riskMetric: Int64?
  /// Whether DeviceCheck said that the device had registered in the same month before; nil where it was not asked.
  package var isKnownDevice: Bool?
  /// The last day, in days since 1970, on which its evidence held.
  package var usedOn: Int64

  package init(
    id: Int64, keyID: [UInt8], status: Status, appID: String, acceptance: String, anchor: [UInt8],
    userID: String?, person: String? = nil, userBannedUntil: Int64? = nil, counters: CounterWindow,
    registeredAt: Int64 = 0,
    riskMetric: Int64? = nil,
    isKnownDevice: Bool? = nil, usedOn: Int64 = 0
  ) {
    self.id = id
    self.keyID = keyID
    self.status = status
    self.appID = appID
    self.acceptance = acceptance
    self.anchor = anchor
    self.userID = userID
    self.person = person
    self.userBannedUntil = userBannedUntil
    self.counters = counters
    self.registeredAt = registeredAt
    self.riskMetric = riskMetric
    self.isKnownDevice = isKnownDevice
    self.usedOn = usedOn
  }

  /// Notes that its evidence held; whether that is a change.
  mutating func use(at now: Int64) -> Bool {
    let day = now / 86_400_000
    defer { usedOn = day }
    return usedOn != day
  }
}

/// An attested session token's row.
package struct SessionState: Sendable, Equatable {
  package var keyID: [UInt8]
  package var routes: [String]
  /// Seconds since 1970.
  package var expiry: Int64

  package init(keyID: [UInt8], routes: [String], expiry: Int64) {
    self.keyID = keyID
    self.routes = routes
    self.expiry = expiry
  }
}

/// A debug token's row.
package struct DebugTokenState: Sendable, Equatable {
  package var name: String
  /// Seconds since 1970.
  package var expiry: Int64

  package init(name: String, expiry: Int64) {
    self.name = name
    self.expiry = expiry
  }
}
