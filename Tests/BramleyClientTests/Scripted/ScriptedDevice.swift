import BramleyAPI
import Cryptography
import Encodings

/// A device whose attestations and assertions hold nothing but what was hashed, so that a test can see it.
actor ScriptedDevice: AppAttestService {
  private(set) var generated = 0
  private(set) var attested: [(keyID: String, hash: [UInt8])] = []
  private(set) var asserted = 0
  private var attestFailures: [AppAttestError] = []
  private var assertFailures: [AppAttestError] = []
  var isSupported = true

  func setSupported(_ supported: Bool) { isSupported = supported }
  func failAttesting(_ errors: AppAttestError...) { attestFailures = errors }
  func failAsserting(_ errors: AppAttestError...) { assertFailures = errors }

  func generateKey() -> String {
    generated += 1
    return Base64.encode(SHA256.hash("key \(generated)"))
  }

  func attestKey(_ keyID: String, clientDataHash: [UInt8]) throws(AppAttestError) -> [UInt8] {
    attested.append((keyID, clientDataHash))
    if !attestFailures.isEmpty { throw attestFailures.removeFirst() }
    return clientDataHash
  }

  func generateAssertion(_ keyID: String, clientDataHash: [UInt8]) throws(AppAttestError) -> [UInt8] {
    if !assertFailures.isEmpty { throw assertFailures.removeFirst() }
    asserted += 1
    return clientDataHash
  }

  nonisolated func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.hash(bytes) }
}
