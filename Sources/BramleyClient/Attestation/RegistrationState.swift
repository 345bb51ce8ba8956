import BramleyAPI

/// What is known of this device's registration.
struct RegistrationState {
  /// A key on its way to the server.
  struct Pending {
    var keyID: String
    var challenge: SignableChallenge
    /// Until when the challenge is used, seconds since 1970 by this device's clock.
    var until: Int64
    /// Nil until Apple answered.
    var attestation: [UInt8]?
  }

  /// The registered key.
  var key: StoredKey?
  var isLoaded = false
  /// Whether the storage refused the key.
  var needsSaving = false
  var pending: Pending?
  /// When a registration was last refused, seconds since 1970.
  var refusedAt: Int64?

  /// Seconds until a new key may be made; nil when it may be now. Each costs an attestation of Apple's, and
  /// raises the device's risk metric.
  func coolDown(_ length: Int64, now: Int64) -> Int64? {
    [key?.registeredAt, refusedAt].compactMap { last -> Int64? in
      guard let last else { return nil }
      let (passed, overflow) = now.subtractingReportingOverflow(last)
      // A time in the future was noted before the clock was set back.
      return !overflow && (0..<length).contains(passed) ? length - passed : nil
    }.max()
  }
}
