import AppleSimulator
import BramleyAPI
import System

/// A simulated phone that outlives the process: its keys and counters are in a file of the data directory.
///
/// The state is written before an assertion is given away, so that no counter comes twice. One process has the
/// phone at a time.
actor StoredDevice: AppAttestService {
  private let device: SimulatedDevice
  private let path: String
  private let claim: FileLock
  private var lastSave = 0
  private var lastWritten = 0

  /// The phone of that name.
  ///
  /// - Parameter name: letters, digits, dots, hyphens and underscores.
  init(named name: String, in data: DataDirectory, authority: SimulatedAppleCA) throws {
    try data.create(data.devices)
    path = "\(data.devices)/\(name).json"
    guard let claim = try FileLock("\(data.devices)/\(name).lock") else {
      throw CommandFailure(
        message: "another process uses the simulated phone “\(name)”; name another one with --device")
    }
    self.claim = claim
    let state = Files.exists(path) ? try Files.read(path, upTo: 1 << 20) : nil
    do {
      device = try SimulatedDevice(
        authority: authority, app: SimulatedApple.app, state: state, now: { WallClock.seconds })
    } catch {
      throw CommandFailure(message: "\(path) is no simulated phone; remove it")
    }
  }

  /// A name that may stand in a path.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty && !text.hasPrefix(".") && text.utf8.count <= 64
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x2D, 0x2E, 0x5F, 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
      }
  }

  /// Which device it is, 16 octets.
  nonisolated var deviceID: [UInt8] { device.deviceID }

  /// Writes it down, so that it is the same phone the next time though it has no key yet.
  func keep() async throws {
    do throws(AppAttestError) { try await save() } catch {
      throw CommandFailure(message: "cannot write \(path)")
    }
  }

  func deviceToken() async -> String? { await device.deviceToken() }

  var isSupported: Bool { get async { await device.isSupported } }

  func generateKey() async throws(AppAttestError) -> String {
    let keyID = try await device.generateKey()
    try await save()
    return keyID
  }

  func attestKey(_ keyID: String, clientDataHash: [UInt8]) async throws(AppAttestError) -> [UInt8] {
    let attestation = try await device.attestKey(keyID, clientDataHash: clientDataHash)
    try await save()
    return attestation
  }

  func generateAssertion(_ keyID: String, clientDataHash: [UInt8]) async throws(AppAttestError) -> [UInt8] {
    let assertion = try await device.generateAssertion(keyID, clientDataHash: clientDataHash)
    try await save()
    return assertion
  }

  nonisolated func sha256(_ bytes: [UInt8]) -> [UInt8] { device.sha256(bytes) }

  /// Writes the state, unless one that was taken later stands there already.
  private func save() async throws(AppAttestError) {
    lastSave += 1
    let number = lastSave
    do {
      let state = try await device.state
      guard number > lastWritten else { return }
      try Files.write(state, to: path)
      lastWritten = number
    } catch {
      throw .unknownSystemFailure
    }
  }
}
