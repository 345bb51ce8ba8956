import Accounts
import Admission
package import AppAttest
package import SQL

/// Registered keys in a database.
package struct SQLDeviceKeyStore: DeviceKeyStore {
  private let database: Database
  private let act: OperatorAct?

  /// - Parameters:
  ///   - database: migrated to `Schema`.
  ///   - act: whose changes these are; without it they are not written to the audit log.
  package init(_ database: Database, _ act: OperatorAct? = nil) {
    self.database = database
    self.act = act
  }

  package func register(
    _ key: DeviceKey, receipt: [UInt8], challenge: [UInt8], challengeExpiry: Int64,
    from address: String? = nil
  ) async throws -> RegistrationOutcome {
    try await database.write { transaction in
      let outcome = try await Self.register(key, receipt, challenge, challengeExpiry, transaction)
      try await RegistrationAudit.note(outcome, key, from: address, transaction)
      return outcome
    }
  }

  package func refused(_ keyID: [UInt8], reason: String, from address: String?, now: Int64) async throws {
    // Whoever repeats it costs no write.
    let isKnown = try await database.read {
      try await RegistrationAudit.isKnown(reason, from: address, now: now, $0)
    }
    guard !isKnown else { return }
    try await database.write { transaction in
      try await RegistrationAudit.refused(keyID, reason: reason, from: address, now: now, transaction)
    }
  }

  private static func register(
    _ key: DeviceKey, _ receipt: [UInt8], _ challenge: [UInt8], _ challengeExpiry: Int64,
    _ transaction: Transaction
  ) async throws -> RegistrationOutcome {
    let known = try await Self.row(key.keyID, transaction)
    let isFresh = try await Challenges.consume(
      random: challenge, expiry: challengeExpiry, keyID: key.keyID, transaction)
    if let known, known.status != .live { return .revoked }
    if let known {
      guard known.key.isSameRegistration(as: key) else { return isFresh ? .conflict : .challengeUsed }
      let isRepeat = try await Challenges.wasConsumed(random: challenge, by: key.keyID, transaction)
      return isFresh || isRepeat ? .alreadyRegistered : .challengeUsed
    }
    guard isFresh else { return .challengeUsed }
    try await Self.insert(key, receipt: receipt, transaction)
    return .created
  }

  package func key(_ keyID: [UInt8]) async throws -> DeviceKey? {
    try await database.read { transaction in
      guard let row = try await Self.row(keyID, transaction), row.status != .revoked else { return nil }
      return row.key
    }
  }

  package func revoke(_ keyID: [UInt8]) async throws -> Bool {
    try await database.write { transaction in
      let revoked = try await transaction.execute(
        "update device_keys set status = $1 where key_id = $2",
        [.integer(DeviceState.Status.revoked.rawValue), .blob(keyID)])
      guard revoked > 0 else { return false }
      try await transaction.execute(
        """
        update device_receipts set next_refresh = null
        where device = (select id from device_keys where key_id = $1)
        """, [.blob(keyID)])
      try await transaction.execute(
        "delete from session_tokens where device = (select id from device_keys where key_id = $1)",
        [.blob(keyID)])
      try act?.write(.deviceKeyRevoked, device: keyID, transaction)
      return true
    }
  }

  package func setBanned(_ banned: Bool, _ keyID: [UInt8]) async throws -> Bool {
    let status: DeviceState.Status = banned ? .banned : .live
    return try await database.write { transaction in
      let changed = try await transaction.execute(
        "update device_keys set status = $1 where key_id = $2 and status <> $3",
        [
          .integer(status.rawValue), .blob(keyID), .integer(DeviceState.Status.revoked.rawValue),
        ])
      guard changed > 0 else { return false }
      try act?.write(banned ? .deviceKeyBanned : .deviceKeyUnbanned, device: keyID, transaction)
      return true
    }
  }

  package func challengeSecrets(fresh: [UInt8]) async throws -> [ChallengeSecret] {
    let kept = try await database.read { try await Challenges.secrets($0) }
    if !kept.isEmpty { return kept }
    return try await database.write { transaction in
      // Another node may have been first: then its secret is everyone's.
      let kept = try await Challenges.secrets(transaction)
      if !kept.isEmpty { return kept }
      try await Challenges.add(fresh, transaction)
      return try await Challenges.secrets(transaction)
    }
  }

  package func rotateChallengeSecret(fresh: [UInt8]) async throws {
    try await database.write { try await Challenges.add(fresh, $0) }
  }

  package func sweepChallenges(now: Int64) async throws {
    try await database.write { try await Challenges.sweep(now: now, $0) }
  }

  static func row(
    _ keyID: [UInt8], _ transaction: Transaction
  ) async throws -> (key: DeviceKey, status: DeviceState.Status)? {
    try await transaction.first(
      """
      select public_key, app_id, environment, anchor, registered_at, status, os_version, os_build, platform,
        bundle_version, validation_category
      from device_keys where key_id = $1
      """, [.blob(keyID)]
    ) { row in
      let facts = DeviceFacts(
        osVersion: row.optionalString(6), osBuild: row.optionalString(7), platform: row.optionalString(8),
        bundleVersion: row.optionalString(9),
        validationCategory: row.optionalInt64(10).flatMap { UInt32(exactly: $0) })
      let key = DeviceKey(
        keyID: keyID, publicKey: row.bytes(0), appID: row.string(1),
        environment: AttestEnvironment(rawValue: row.string(2)) ?? .development, anchor: row.bytes(3),
        registeredAt: row.int64(4), facts: facts)
      return (key, DeviceState.Status(rawValue: row.int64(5)) ?? .revoked)
    }
  }

  /// The number of the new row.
  @discardableResult static func insert(
    _ key: DeviceKey, receipt: [UInt8], _ transaction: Transaction
  ) async throws -> Int64 {
    let facts = key.facts
    let id = try await transaction.insert(
      """
      insert into device_keys (key_id, public_key, app_id, environment, anchor, registered_at, os_version,
        os_build, platform, bundle_version, validation_category)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      """,
      [
        .blob(key.keyID), .blob(key.publicKey), .text(key.appID), .text(key.environment.rawValue),
        .blob(key.anchor), .integer(key.registeredAt), SQLValue(facts.osVersion), SQLValue(facts.osBuild),
        SQLValue(facts.platform), SQLValue(facts.bundleVersion),
        SQLValue(facts.validationCategory.map { Int64($0) }),
      ])
    try await transaction.execute("insert into device_states (device) values ($1)", [.integer(id)])
    try await transaction.execute(
      "insert into device_receipts (device, receipt, received_at, next_refresh) values ($1, $2, $3, $3)",
      [.integer(id), .blob(receipt), .integer(key.registeredAt)])
    return id
  }
}

extension DeviceKey {
  /// Whether both come from one attestation, so that a repeated registration is no other key.
  func isSameRegistration(as other: DeviceKey) -> Bool {
    publicKey == other.publicKey && appID == other.appID && environment == other.environment
      && anchor == other.anchor
  }
}
