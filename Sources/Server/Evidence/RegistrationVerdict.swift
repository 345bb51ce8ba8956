package import AppAttest

/// What the verification of an attestation came to.
package enum RegistrationVerdict: Sendable, Equatable {
  /// It holds: the key, and its receipt as it came.
  case verified(DeviceKey, receipt: [UInt8])
  /// It does not; as the client is told.
  case refused(Failure)
}
