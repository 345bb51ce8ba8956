package import Admission
package import SQL

/// A registered key as an operator sees it.
package struct ListedKey: Sendable, Equatable {
  /// The row's number: keys are listed by it.
  package var id: Int64
  package var keyID: [UInt8]
  package var appID: String
  package var environment: String
  /// Seconds since 1970.
  package var registeredAt: Int64
  package var status: DeviceState.Status
  package var osVersion: String?
  package var userID: String?
  /// Of the newest receipt; nil until it is known.
  package var riskMetric: Int64?
  /// When that receipt came from Apple, seconds since 1970.
  package var receiptAt: Int64?
  /// Whether DeviceCheck knew the device when the key was registered; nil where it was not asked.
  package var isKnownDevice: Bool?
}

/// The registered keys, a page at a time, read beside the writer.
package struct SQLDeviceKeyList: Sendable {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  /// The keys that were registered after the one of that number, at most `limit`, oldest first.
  ///
  /// - Parameter status: of that status alone; nil for every one.
  package func keys(after id: Int64, status: DeviceState.Status?, limit: Int) async throws -> [ListedKey] {
    try await database.read { transaction in
      try await transaction.rows(
        """
        select k.id, k.key_id, k.app_id, k.environment, k.registered_at, k.status, k.os_version, s.user_id,
          k.risk_metric, r.fetched_at, k.known_device
        from device_keys k left join device_states s on s.device = k.id
          left join device_receipts r on r.device = k.id
        where k.id > $1 and ($2 < 0 or k.status = $2) order by k.id limit $3
        """, [.integer(id), .integer(status?.rawValue ?? -1), .integer(Int64(limit))]
      ) {
        ListedKey(
          id: $0.int64(0), keyID: $0.bytes(1), appID: $0.string(2), environment: $0.string(3),
          registeredAt: $0.int64(4), status: DeviceState.Status(rawValue: $0.int64(5)) ?? .revoked,
          osVersion: $0.optionalString(6), userID: $0.optionalString(7),
          riskMetric: $0.optionalInt64(8), receiptAt: $0.optionalInt64(9),
          isKnownDevice: $0.optionalInt64(10).map { $0 != 0 })
      }
    }
  }
}
