package import AppAttest
package import SQL

/// Receipts in a database.
package struct SQLReceiptStore: ReceiptStore {
  /// A pause that ends later than that from now is none: the clock was set back.
  static let longestPause: Int64 = 86_400

  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func due(_ demand: ReceiptDemand) async throws -> [StoredReceipt] {
    // Mostly there is none, and writing costs: look first. What is seen here decides nothing else.
    let isQuiet = try await database.read { transaction in
      if try await Self.isPaused(demand.now, transaction) { return true }
      for kind in Self.kinds {
        let due = try await transaction.first(
          """
          select 1 from device_receipts where \(kind) and next_refresh <= $1
          union all select 1 from device_receipts where \(kind) and next_refresh > $2 limit 1
          """, [.integer(demand.now), .integer(demand.horizon)]
        ) { $0.int64(0) }
        if due != nil { return false }
      }
      return true
    }
    if isQuiet { return [] }
    return try await database.write { transaction in
      if try await Self.isPaused(demand.now, transaction) { return [] }
      var receipts: [StoredReceipt] = []
      for kind in Self.kinds {
        try await Self.tidy(kind, demand, transaction)
        let left = demand.limit - receipts.count
        if left > 0 { receipts += try await Self.take(kind, left, demand, transaction) }
      }
      return receipts
    }
  }

  package func keep(
    _ refreshed: RefreshedReceipt, for old: StoredReceipt, now: Int64
  ) async throws -> Bool {
    try await database.write { transaction in
      let kept = try await transaction.execute(
        """
        update device_receipts set receipt = $3, received_at = $4, fetched_at = $4, failures = 0,
          next_refresh = \(Self.unlessEnded("$5"))
        where device = $1 and receipt = $2
        """,
        [
          .integer(old.id), .blob(old.receipt), .blob(refreshed.bytes), .integer(now),
          SQLValue(refreshed.nextRefresh),
        ])
      guard kept > 0 else { return false }
      if let metric = refreshed.riskMetric {
        try await transaction.execute(
          "update device_keys set risk_metric = $2 where id = $1",
          [.integer(old.id), .integer(metric)])
      }
      return true
    }
  }

  package func putOff(_ receipt: StoredReceipt, to nextRefresh: Int64?, failures: Int64) async throws {
    try await database.write { transaction in
      _ = try await transaction.execute(
        """
        update device_receipts set next_refresh = \(Self.unlessEnded("$3")), failures = $4
        where device = $1 and receipt = $2
        """,
        [.integer(receipt.id), .blob(receipt.receipt), SQLValue(nextRefresh), .integer(failures)])
    }
  }

  package func pause(until: Int64, now: Int64) async throws {
    let until = min(until, now + Self.longestPause)
    try await database.write { transaction in
      _ = try await transaction.execute(
        """
        insert into receipt_pauses (id, ends) values (1, $1)
        on conflict (id) do update set ends = excluded.ends
        where receipt_pauses.ends < excluded.ends or receipt_pauses.ends > $2
        """, [.integer(until), .integer(now + Self.longestPause)])
    }
  }

  package func note(_ standing: DeviceStanding, of keyID: [UInt8]) async throws {
    let bits = standing.bits.map { Int64(($0.bit0 ? 1 : 0) + ($0.bit1 ? 2 : 0)) }
    try await database.write { transaction in
      _ = try await transaction.execute(
        "update device_keys set device_bits = $2, known_device = $3 where key_id = $1",
        [.blob(keyID), SQLValue(bits), .integer(standing.isKnown ? 1 : 0)])
    }
  }

  /// A key that is revoked while Apple is asked is not asked about again.
  private static func unlessEnded(_ time: String) -> String {
    "case when next_refresh is null then null else cast(\(time) as bigint) end"
  }

  /// Those that were never exchanged come first. Each kind has its index.
  private static let kinds = ["fetched_at is null", "fetched_at is not null"]

  private static func isPaused(_ now: Int64, _ transaction: Transaction) async throws -> Bool {
    try await transaction.first(
      "select 1 from receipt_pauses where ends > $1 and ends <= $2",
      [.integer(now), .integer(now + longestPause)]
    ) { $0.int64(0) } != nil
  }

  /// Makes due what no schedule gave, and puts off those of keys that nobody uses.
  private static func tidy(_ kind: String, _ demand: ReceiptDemand, _ transaction: Transaction) async throws {
    try await transaction.execute(
      "update device_receipts set next_refresh = $1 where \(kind) and next_refresh > $2",
      [.integer(demand.now), .integer(demand.horizon)])
    try await transaction.execute(
      """
      update device_receipts set next_refresh = $2 where device in (
        select r.device from device_receipts r join device_keys k on k.id = r.device
          join device_states s on s.device = r.device
        where r.\(kind) and r.next_refresh <= $1
          and (k.status <> 0 or (k.registered_at < $3 and s.used_on < $4))
        order by r.next_refresh limit 1000\(transaction.skippingLocked(of: "r")))
      """,
      [
        .integer(demand.now), .integer(demand.idleUntil), .integer(demand.activeSince),
        .integer(demand.activeSince / 86_400),
      ])
  }

  private static func take(
    _ kind: String, _ limit: Int, _ demand: ReceiptDemand, _ transaction: Transaction
  ) async throws -> [StoredReceipt] {
    let receipts = try await transaction.rows(
      """
      select r.device, r.receipt, r.fetched_at, r.failures, k.key_id, k.public_key, k.app_id, k.environment,
        k.anchor, k.registered_at
      from device_receipts r join device_keys k on k.id = r.device join device_states s on s.device = r.device
      where r.\(kind) and r.next_refresh <= $1 and k.status = 0
        and (k.registered_at >= $2 or s.used_on >= $3)
      order by r.next_refresh limit $4\(transaction.skippingLocked(of: "r"))
      """,
      [
        .integer(demand.now), .integer(demand.activeSince), .integer(demand.activeSince / 86_400),
        .integer(Int64(limit)),
      ]
    ) {
      StoredReceipt(
        id: $0.int64(0),
        key: DeviceKey(
          keyID: $0.bytes(4), publicKey: $0.bytes(5), appID: $0.string(6),
          environment: AttestEnvironment(rawValue: $0.string(7)) ?? .development, anchor: $0.bytes(8),
          registeredAt: $0.int64(9)),
        receipt: $0.bytes(1), fetchedAt: $0.optionalInt64(2), failures: $0.int64(3))
    }
    for receipt in receipts {
      try transaction.enqueue(
        "update device_receipts set next_refresh = $2 where device = $1",
        [.integer(receipt.id), .integer(demand.retryAt)])
    }
    return receipts
  }
}

extension ReceiptDemand {
  /// Later than any schedule goes.
  fileprivate var horizon: Int64 { now + RefreshSchedule.horizon }
}
