/// The environment that an attestation's AAGUID names.
package enum AttestEnvironment: String, Sendable, Hashable, CaseIterable {
  /// `appattestdevelop`: builds from Xcode.
  case development
  /// `appattest` and seven zero octets: TestFlight, App Store, enterprise.
  case production
}

/// A registered key: what the server keeps of a verified attestation. The certificates are never looked at
/// again.
package struct DeviceKey: Sendable, Equatable {
  /// SHA-256 of the public key, 32 octets.
  package var keyID: [UInt8]
  /// The X9.63 uncompressed point, 65 octets.
  package var publicKey: [UInt8]
  /// App ID prefix, a dot and the bundle id.
  package var appID: String
  /// What the AAGUID said.
  package var environment: AttestEnvironment
  /// SHA-256 of the trust anchor's DER under which the attestation was verified, 32 octets (RULES §1.6).
  package var anchor: [UInt8]
  /// When it was registered, seconds since 1970.
  package var registeredAt: Int64
  /// What the certificate and the signed extensions said of the device.
  package var facts: DeviceFacts

  package init(
    keyID: [UInt8], publicKey: [UInt8], appID: String, environment: AttestEnvironment, anchor: [UInt8],
    registeredAt: Int64, facts: DeviceFacts = DeviceFacts()
  ) {
    self.keyID = keyID
    self.publicKey = publicKey
    self.appID = appID
    self.environment = environment
    self.anchor = anchor
    self.registeredAt = registeredAt
    self.facts = facts
  }
}

/// What an attestation says of the device and the build, where it says it.
package struct DeviceFacts: Sendable, Equatable {
  /// Such as `26.3`.
  package var osVersion: String?
  /// Such as `23D127`.
  package var osBuild: String?
  /// `iphoneos`, `macosx`.
  package var platform: String?
  /// `apple_bundle_version_01`.
  package var bundleVersion: String?
  /// `apple_validation_category_01`.
  package var validationCategory: UInt32?

  package init(
    osVersion: String? = nil, osBuild: String? = nil, platform: String? = nil, bundleVersion: String? = nil,
    validationCategory: UInt32? = nil
  ) {
    self.osVersion = osVersion
    self.osBuild = osBuild
    self.platform = platform
    self.bundleVersion = bundleVersion
    self.validationCategory = validationCategory
  }
}

/// What became of a registration.
package enum RegistrationOutcome: Sendable, Equatable {
  /// A new row.
  case created
  /// The same key under the same facts was there: the answer to the first call got lost.
  case alreadyRegistered
  /// The key is known under another public key, app, environment or anchor.
  case conflict
  /// The challenge was used before, or expires at or below the stored floor (RULES §1.4).
  case challengeUsed
  /// The key was revoked, or its device is banned.
  case revoked
}

/// Registered keys. Each method is one atomic step.
package protocol DeviceKeyStore: Sendable {
  /// Consumes the challenge (its decoded random, kept until `challengeExpiry`, seconds since 1970) and keeps
  /// the key with its receipt. The same key with the same facts is `alreadyRegistered`, also when its
  /// challenge was consumed by that very key's registration before. What comes of it is written to the audit log,
  /// with the client's address.
  func register(
    _ key: DeviceKey, receipt: [UInt8], challenge: [UInt8], challengeExpiry: Int64, from address: String?
  ) async throws -> RegistrationOutcome
  /// Writes to the audit log that an attestation was refused, once a minute for the same address and reason; `now`
  /// in milliseconds since 1970.
  func refused(_ keyID: [UInt8], reason: String, from address: String?, now: Int64) async throws
  /// The registered key; nil for one that is unknown or revoked.
  func key(_ keyID: [UInt8]) async throws -> DeviceKey?
  /// Ends the key for good: no assertion and no session token of it is admitted any more. False when unknown.
  func revoke(_ keyID: [UInt8]) async throws -> Bool
  /// Refuses the key from now on, or lets it in again: unlike a revoked one it stays known, so that its app does
  /// not register anew. False when unknown or revoked.
  func setBanned(_ banned: Bool, _ keyID: [UInt8]) async throws -> Bool
  /// The MAC secret of that id and use, made of `fresh` when the database has none yet: every node gets the
  /// same (RULES §1.4). Current first, then the previous one if it is still honoured.
  func challengeSecrets(fresh: [UInt8]) async throws -> [ChallengeSecret]
  /// Makes `fresh` the current secret and keeps the last as previous.
  func rotateChallengeSecret(fresh: [UInt8]) async throws
  /// Forgets consumed challenges that expired before `now` and raises the floor to it, in one transaction.
  func sweepChallenges(now: Int64) async throws
}

/// A secret that challenges are authenticated with.
package struct ChallengeSecret: Sendable, Equatable {
  /// Stands in the challenge's first octet.
  package var id: UInt8
  /// 32 octets, never used but through HKDF with a label of the use.
  package var secret: [UInt8]

  package init(id: UInt8, secret: [UInt8]) {
    self.id = id
    self.secret = secret
  }
}
