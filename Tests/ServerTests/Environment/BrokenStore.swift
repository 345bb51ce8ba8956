import Admission
import AppAttest

/// A database that answers nothing.
struct BrokenStore: DeviceKeyStore, AdmissionLedger, DebugTokenStore {
  struct Down: Error {}

  func register(
    _ key: DeviceKey, receipt: [UInt8], challenge: [UInt8], challengeExpiry: Int64, from address: String?
  ) async throws -> RegistrationOutcome { throw Down() }
  func refused(_ keyID: [UInt8], reason: String, from address: String?, now: Int64) async throws {
    throw Down()
  }
  func key(_ keyID: [UInt8]) async throws -> DeviceKey? { throw Down() }
  func revoke(_ keyID: [UInt8]) async throws -> Bool { throw Down() }
  func setBanned(_ banned: Bool, _ keyID: [UInt8]) async throws -> Bool { throw Down() }
  func challengeSecrets(fresh: [UInt8]) async throws -> [ChallengeSecret] { throw Down() }
  func rotateChallengeSecret(fresh: [UInt8]) async throws { throw Down() }
  func sweepChallenges(now: Int64) async throws { throw Down() }

  func admit(_ request: AdmissionRequest) async throws -> AdmissionDecision { throw Down() }
  func settle(_ settlement: Settlement) async throws -> Bool { throw Down() }
  func renew(_ id: [UInt8], for lease: Int64, now: Int64) async throws -> Bool { throw Down() }
  func sweep(now: Int64) async throws -> Int { throw Down() }
  func issueSession(
    _ request: AdmissionRequest, token: SessionToken, atMost: Int
  ) async throws -> AdmissionDecision { throw Down() }
  func forgetUsage(olderThan age: Int64, atMost limit: Int, now: Int64) async throws -> Int { throw Down() }
  func knows(tokenHash: [UInt8], now: Int64) async throws -> Bool { throw Down() }
  func remaining(keyID: [UInt8], charges: [Charge], now: Int64) async throws -> [Remaining] { throw Down() }

  func createDebugToken(name: String, hash: [UInt8], expiry: Int64, now: Int64) async throws -> Bool {
    throw Down()
  }
  func revokeDebugToken(name: String) async throws -> Bool { throw Down() }
  func debugTokens() async throws -> [(name: String, expiry: Int64, lastUse: Int64?)] { throw Down() }
}
