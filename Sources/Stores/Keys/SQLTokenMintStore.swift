package import Admission
package import AppAttest
package import SQL

/// Keys of Anthropic's flow in a database (RULES §1.11).
package struct SQLTokenMintStore: TokenMintStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func mints(of keyID: [UInt8]) async throws -> Int64 {
    try await database.read { transaction in
      try await transaction.first(
        "select m.mints from token_mints m join device_keys k on k.id = m.device where k.key_id = $1",
        [.blob(keyID)]
      ) { $0.int64(0) } ?? 0
    }
  }

  package func isKnown(_ keyID: [UInt8]) async throws -> Bool {
    try await database.read { try await SQLDeviceKeyStore.row(keyID, $0) != nil }
  }

  package func register(
    _ key: DeviceKey, receipt: [UInt8], token: SessionToken, from address: String?
  ) async throws -> RegistrationOutcome {
    try await database.write { transaction in
      let outcome = try await Self.register(key, receipt, token, transaction)
      try await RegistrationAudit.note(outcome, key, from: address, transaction)
      return outcome
    }
  }

  private static func register(
    _ key: DeviceKey, _ receipt: [UInt8], _ token: SessionToken, _ transaction: Transaction
  ) async throws -> RegistrationOutcome {
    if let known = try await SQLDeviceKeyStore.row(key.keyID, transaction) {
      guard known.status == .live else { return .revoked }
      return known.key.isSameRegistration(as: key) ? .alreadyRegistered : .conflict
    }
    let device = try await SQLDeviceKeyStore.insert(key, receipt: receipt, transaction)
    try await transaction.execute(
      "insert into token_mints (device, mints) values ($1, 1)", [.integer(device)])
    for query in SessionRows.add(
      token, device: device, userID: nil, atMost: 1, now: key.registeredAt)
    {
      try await transaction.execute(query.sql, query.values)
    }
    return .created
  }
}
