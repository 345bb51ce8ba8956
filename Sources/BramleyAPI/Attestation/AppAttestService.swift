/// What a device does for App Attest: DeviceCheck's `DCAppAttestService`, or a simulated device.
///
/// Key ids are standard base64 with padding, as Apple gives them.
public protocol AppAttestService: Sendable {
  /// Whether this device and this kind of process can attest.
  var isSupported: Bool { get async }
  /// Makes a key that never leaves the device, and returns its id.
  func generateKey() async throws(AppAttestError) -> String
  /// The attestation object of a fresh key over the SHA-256 of the signed bytes. Once only a key; after
  /// `serverUnavailable` the same key with the same hash may be tried again.
  func attestKey(_ keyID: String, clientDataHash: [UInt8]) async throws(AppAttestError) -> [UInt8]
  /// An assertion object of an attested key over the SHA-256 of the signed bytes.
  func generateAssertion(_ keyID: String, clientDataHash: [UInt8]) async throws(AppAttestError) -> [UInt8]
  /// SHA-256 (FIPS 180-4), 32 octets: this target has no cryptography of its own.
  func sha256(_ bytes: [UInt8]) -> [UInt8]
  /// A fresh token of DeviceCheck's `DCDevice`, base64, for a registration; nil where there is none, which is no
  /// error: servers take it as a signal alone.
  func deviceToken() async -> String?
}

extension AppAttestService {
  /// None.
  public func deviceToken() async -> String? { nil }
}

/// Why the device refused: the codes of DeviceCheck's `DCError`.
public enum AppAttestError: Error, Equatable, Sendable {
  /// Anything else.
  case unknownSystemFailure
  /// Not on this device.
  case unsupported
  /// An argument is wrong.
  case invalidInput
  /// The key does not exist any more, was attested already, or was never attested: it is of no use.
  case invalidKey
  /// Apple's server could not be reached: the same key and hash may be tried later.
  case serverUnavailable
}
