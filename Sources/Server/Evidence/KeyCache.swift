import AppAttest
import Cryptography

/// A registered key with its public key parsed: parsing costs more than a verification.
struct ParsedKey: Sendable {
  let key: DeviceKey
  let publicKey: P256.PublicKey
}

/// Registered keys that were asked for lately. It spares the look-up before a signature is verified; admission
/// reads the row again, so that a revocation acts at once.
actor KeyCache {
  private let keys: any DeviceKeyStore
  private let capacity: Int
  private var young: [[UInt8]: ParsedKey] = [:]
  private var old: [[UInt8]: ParsedKey] = [:]

  init(_ keys: any DeviceKeyStore, capacity: Int = 8_192) {
    self.keys = keys
    self.capacity = capacity
  }

  /// The key; throws a ``Failure``: unknown, or the database does not answer.
  func key(_ keyID: [UInt8]) async throws -> ParsedKey {
    if let parsed = young[keyID] { return parsed }
    if let parsed = old[keyID] {
      keep(parsed)
      return parsed
    }
    let stored: DeviceKey?
    do {
      stored = try await keys.key(keyID)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw Failure.storage(error)
    }
    guard let stored else { throw Failure.unknownKey }
    guard let publicKey = try? P256.PublicKey(point: stored.publicKey) else {
      throw Failure.storage(CryptographyError.invalidKey)
    }
    let parsed = ParsedKey(key: stored, publicKey: publicKey)
    keep(parsed)
    return parsed
  }

  /// Forgets the key: its row is no longer what it was.
  func forget(_ keyID: [UInt8]) {
    young[keyID] = nil
    old[keyID] = nil
  }

  private func keep(_ parsed: ParsedKey) {
    if young.count >= capacity {
      old = young
      young = [:]
    }
    young[parsed.key.keyID] = parsed
  }
}
