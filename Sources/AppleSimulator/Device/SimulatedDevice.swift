public import BramleyAPI
import Cryptography
import Encodings

/// A device that does not exist: it makes keys, attestations and assertions as a real one would, under an
/// authority of its own. Its Secure Enclave is this process's memory, or the file where ``state`` is kept.
public actor SimulatedDevice: AppAttestService {
  /// What can fail on purpose.
  public enum Operation: Sendable, Hashable {
    /// `generateKey`
    case generateKey
    /// `attestKey`
    case attestKey
    /// `generateAssertion`
    case generateAssertion
  }

  /// The app that runs on it.
  public let app: SimulatedApp
  /// Its operating system.
  public let system: SimulatedSystem

  private let authority: SimulatedAppleCA
  private let now: @Sendable () -> Int64
  /// Which device it is, 16 octets, whatever is installed anew there. No app is told.
  public nonisolated let deviceID: [UInt8]
  private var keys: [SimulatedKey]
  private var failures: [Operation: (error: AppAttestError, times: Int)] = [:]
  private var supported = true

  /// A device.
  ///
  /// - Parameters:
  ///   - authority: signs what it attests.
  ///   - app: the app that runs on it.
  ///   - system: its operating system.
  ///   - state: its keys, as ``state`` gave them; nil for a new device.
  ///   - now: seconds since 1970.
  public init(
    authority: SimulatedAppleCA, app: SimulatedApp, system: SimulatedSystem = .iOS27, state: [UInt8]? = nil,
    now: @escaping @Sendable () -> Int64
  ) throws(SimulatorError) {
    self.authority = authority
    self.app = app
    self.system = system
    self.now = now
    let kept = try state.map { (state) throws(SimulatorError) in try DeviceState.read(state) }
    deviceID = kept?.deviceID ?? SecureRandom.bytes(16)
    keys = kept?.keys ?? []
  }

  /// Its keys with their counters: secrets, to be kept in a file that only its owner can read. Keep it after
  /// every assertion, else a counter comes again.
  public var state: [UInt8] {
    get throws(SimulatorError) { try DeviceState.write(DeviceState(deviceID: deviceID, keys: keys)) }
  }

  /// True, unless ``setSupported(_:)`` said otherwise.
  public var isSupported: Bool { supported }

  /// Whether the device can attest at all.
  public func setSupported(_ supported: Bool) { self.supported = supported }

  /// Lets the next calls of an operation fail.
  public func fail(_ operation: Operation, with error: AppAttestError, times: Int = 1) {
    failures[operation] = (error, times)
  }

  /// Loses every key, as a new phone, a restored backup and a reinstalled app do.
  public func loseKeys() { keys = [] }

  /// Sets a key's counter, back as well: the next assertion carries one more. False for an unknown key.
  public func setCounter(_ counter: UInt32, of keyID: String) -> Bool {
    guard let index = index(keyID) else { return false }
    keys[index].counter = counter
    return true
  }

  /// A new key.
  public func generateKey() throws(AppAttestError) -> String {
    try check(.generateKey)
    guard let key = try? P256.PrivateKey() else { throw .unknownSystemFailure }
    let made = SimulatedKey(key: key)
    keys.append(made)
    return Base64.encode(made.id)
  }

  /// The attestation of a key that has none yet.
  public func attestKey(_ keyID: String, clientDataHash: [UInt8]) throws(AppAttestError) -> [UInt8] {
    try check(.attestKey)
    guard !clientDataHash.isEmpty else { throw .invalidInput }
    guard let index = index(keyID), keys[index].attestedHash == nil else { throw .invalidKey }
    keys[index].attestedHash = clientDataHash
    keys[index].attestedAt = now()
    return try attestation(keys[index], flaw: nil)
  }

  /// An attestation with one thing wrong, of a key whose attestation was made before, over the same hash.
  public func attestation(of keyID: String, flaw: SimulatedFlaw?) throws(AppAttestError) -> [UInt8] {
    guard let index = index(keyID), keys[index].attestedHash != nil else { throw .invalidKey }
    return try attestation(keys[index], flaw: flaw)
  }

  /// An assertion of an attested key, with its next counter.
  public func generateAssertion(_ keyID: String, clientDataHash: [UInt8]) throws(AppAttestError) -> [UInt8] {
    try check(.generateAssertion)
    guard !clientDataHash.isEmpty else { throw .invalidInput }
    guard let index = index(keyID), keys[index].attestedHash != nil, keys[index].counter < .max else {
      throw .invalidKey
    }
    keys[index].counter += 1
    let data = AuthenticatorData(app, system, counter: keys[index].counter).assertion
    // The nonce is signed as a message: SHA-256 is applied to it once more.
    let nonce = SHA256.hash(data + clientDataHash)
    guard let signature = try? keys[index].key.signature(for: nonce) else { throw .unknownSystemFailure }
    return CBORWriter.map([
      (CBORWriter.text("signature"), CBORWriter.bytes(signature)),
      (CBORWriter.text("authenticatorData"), CBORWriter.bytes(data)),
    ])
  }

  /// A token of DeviceCheck, base64: names the device to the simulated Apple for a minute.
  public func deviceToken() async -> String? {
    guard supported else { return nil }
    let isProduction = app.distribution != .development
    return try? SimulatedDeviceToken(device: deviceID, isProduction: isProduction, issuedAt: now())
      .text(authority)
  }

  /// SHA-256.
  public nonisolated func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.hash(bytes) }

  private func attestation(_ key: SimulatedKey, flaw: SimulatedFlaw?) throws(AppAttestError) -> [UInt8] {
    let time = now()
    let recent = keys.filter { $0.attestedHash != nil && $0.attestedAt > time - 30 * 86_400 }
    var draft = AttestationDraft(
      app: app, system: system, point: key.key.point, clientDataHash: key.attestedHash ?? [],
      issuedAt: time, risk: recent.count, device: deviceID)
    if let flaw {
      guard let foreign = try? P256.PrivateKey() else { throw .unknownSystemFailure }
      flaw.apply(to: &draft, foreignPoint: foreign.point)
    }
    do { return try draft.object(authority) } catch { throw .unknownSystemFailure }
  }

  private func check(_ operation: Operation) throws(AppAttestError) {
    guard supported else { throw .unsupported }
    guard let failure = failures[operation], failure.times > 0 else { return }
    failures[operation] = (failure.error, failure.times - 1)
    throw failure.error
  }

  private func index(_ keyID: String) -> Int? {
    guard let id = Base64.decode(keyID) else { return nil }
    return keys.firstIndex { $0.id == id }
  }
}
