/// The newest receipt of a key, as it is kept.
package struct StoredReceipt: Sendable, Equatable {
  /// The row of the key.
  package var id: Int64
  package var key: DeviceKey
  /// CMS SignedData.
  package var receipt: [UInt8]
  /// When it came from Apple's endpoint, seconds since 1970; nil for the one out of the attestation.
  package var fetchedAt: Int64?
  /// How often in a row asking for a newer one came to nothing.
  package var failures: Int64

  package init(id: Int64, key: DeviceKey, receipt: [UInt8], fetchedAt: Int64?, failures: Int64) {
    self.id = id
    self.key = key
    self.receipt = receipt
    self.fetchedAt = fetchedAt
    self.failures = failures
  }
}

/// Which receipts are wanted for an exchange. Times are seconds since 1970.
package struct ReceiptDemand: Sendable, Equatable {
  package var now: Int64
  /// To when those that are handed out are put off, so that a crash neither loses one nor asks Apple twice.
  package var retryAt: Int64
  /// Keys that were neither used nor registered since are not asked about …
  package var activeSince: Int64
  /// … and looked at again then, as banned ones are.
  package var idleUntil: Int64
  package var limit: Int

  package init(now: Int64, retryAt: Int64, activeSince: Int64, idleUntil: Int64, limit: Int) {
    self.now = now
    self.retryAt = retryAt
    self.activeSince = activeSince
    self.idleUntil = idleUntil
    self.limit = limit
  }
}

/// What is kept of a new receipt.
package struct RefreshedReceipt: Sendable, Equatable {
  /// CMS SignedData.
  package var bytes: [UInt8]
  /// Field 17, where it stands there: else the last one is kept.
  package var riskMetric: Int64?
  /// When it is exchanged in its turn, seconds since 1970; nil for never.
  package var nextRefresh: Int64?

  package init(bytes: [UInt8], riskMetric: Int64?, nextRefresh: Int64?) {
    self.bytes = bytes
    self.riskMetric = riskMetric
    self.nextRefresh = nextRefresh
  }
}

/// What DeviceCheck said of a device before its registration.
package struct DeviceStanding: Sendable, Equatable {
  /// The two bits, where they were ever set.
  package var bits: DeviceBits?
  /// Whether the bits say that it had registered in the same month.
  package var isKnown: Bool

  package init(bits: DeviceBits?, isKnown: Bool) {
    self.bits = bits
    self.isKnown = isKnown
  }
}

/// Receipts and what Apple says of devices. Each method is one atomic step; times are seconds since 1970.
package protocol ReceiptStore: Sendable {
  /// Receipts of live and used keys whose time has come, those first that were never exchanged, and puts each off.
  /// None while there is a pause. A time that no schedule gives (a clock was set back) counts as come.
  func due(_ demand: ReceiptDemand) async throws -> [StoredReceipt]
  /// Keeps a new receipt in the place of the one that it was exchanged for, and its risk metric with the key. False,
  /// and nothing happens, where another one stands there by now.
  func keep(_ refreshed: RefreshedReceipt, for old: StoredReceipt, now: Int64) async throws -> Bool
  /// Notes that nothing came of an exchange, how often by now in a row, and when to try again; nil for never. Nothing
  /// happens where another receipt stands there by now.
  func putOff(_ receipt: StoredReceipt, to nextRefresh: Int64?, failures: Int64) async throws
  /// No node asks Apple before then; a pause that ends later stays.
  func pause(until: Int64, now: Int64) async throws
  /// Keeps what DeviceCheck said of a key's device. Nothing happens where the key is gone.
  func note(_ standing: DeviceStanding, of keyID: [UInt8]) async throws
}
