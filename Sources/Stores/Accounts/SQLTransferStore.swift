package import Accounts
package import Encodings
package import SQL

/// Moves between teams in a database.
package struct SQLTransferStore: TransferStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func transfer(
    from source: String, to target: String, acceptedAt: Int64?, now: Int64
  ) async throws -> AccountTransfer {
    try await database.accountStep { transaction in
      try await transaction.execute(
        """
        insert into team_transfers (source, target, accepted_at, created_at) values ($1, $2, $3, $4)
        on conflict (source, target) do update
          set accepted_at = coalesce(excluded.accepted_at, team_transfers.accepted_at)
        """, [.text(source), .text(target), SQLValue(acceptedAt), .integer(now)])
      let found = try await transaction.first(
        "select id, accepted_at, created_at from team_transfers where source = $1 and target = $2",
        [.text(source), .text(target)]
      ) {
        AccountTransfer(
          id: $0.int64(0), source: source, target: target, acceptedAt: $0.optionalInt64(1),
          createdAt: $0.int64(2))
      }
      guard let found else { throw DatabaseError.conflict }
      return found
    }
  }

  package func waiting(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool, after: UUID?, limit: Int64
  ) async throws -> [TransferUser] {
    try await database.read {
      try await TransferRows.waiting(transfer, step, again: again, after: after, limit: limit, $0)
    }
  }

  package func count(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool
  ) async throws -> Int64 {
    try await database.read { try await TransferRows.count(transfer, step, again: again, $0) }
  }

  package func exported(
    _ identity: UUID, as identifier: String, _ transfer: AccountTransfer, now: Int64
  ) async throws -> Bool {
    try await database.accountStep { transaction in
      let changed = try await transaction.execute(
        """
        update identities set transfer_subject = $3 where id = $1 and provider = 'apple' and team_id = $2
        """, [SQLValue(identity), .text(transfer.source), .text(identifier)])
      guard changed > 0 else { return false }
      try await TransferRows.note(.exported, identity, transfer, now: now, transaction)
      return true
    }
  }

  package func refused(
    _ identity: UUID, reason: String, _ transfer: AccountTransfer, now: Int64
  ) async throws {
    try await database.accountStep { transaction in
      try await TransferRows.note(.refused, identity, transfer, reason: reason, now: now, transaction)
    }
  }

  package func rekey(
    _ rekeying: Rekeying, _ transfer: AccountTransfer, by origin: RequestOrigin, now: Int64
  ) async throws -> TransferResult? {
    try await database.accountStep {
      try await RekeyStep(rekeying: rekeying, transfer: transfer, origin: origin, now: now, transaction: $0)
        .run()
    }
  }

  package func results(
    _ transfer: AccountTransfer, after: UUID?, limit: Int64
  ) async throws -> [TransferUser] {
    try await database.read { try await TransferRows.results(transfer, after: after, limit: limit, $0) }
  }
}
