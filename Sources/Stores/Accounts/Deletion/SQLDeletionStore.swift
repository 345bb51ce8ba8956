package import Accounts
import Encodings
package import SQL

/// Deletions of accounts in a database.
package struct SQLDeletionStore: DeletionStore, DeletionList {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func begin(
    _ request: DeletionRequest
  ) async throws -> Result<DeletionBeginning, DeletionRefusal> {
    try await database.accountStep { transaction in
      do {
        return .success(try await BeginDeletionStep(request: request, transaction: transaction).run())
      } catch let refusal as DeletionRefusal {
        return .failure(refusal)
      }
    }
  }

  package func name(_ id: Int64, _ operation: OperationID) async throws {
    _ = try await change(id) { deletion, transaction in
      try await DeletionRows.name(deletion, operation, transaction)
      return deletion
    }
  }

  package func record(
    _ id: Int64, token: Int64, _ result: RevocationResult, lease: Int64, now: Int64
  ) async throws -> Deletion? {
    try await change(id) { deletion, transaction in
      if result == .revoked, let revoked = deletion.tokens.first(where: { $0.id == token })?.token {
        // Apple honours it no longer: nobody asks about it any more.
        try await transaction.execute(
          """
          delete from apple_tokens where client_id = $1 and sealed = $2 and identity in
            (select id from identities where provider = 'apple' and team_id = $3 and subject = $4)
          """,
          [
            .text(revoked.clientID), .blob(revoked.sealed), .text(revoked.teamID), .text(revoked.subject),
          ])
      }
      return DeletionRule.recorded(deletion, token: token, result, lease: lease, now: now)
    }
  }

  package func erased(_ id: Int64, _ name: String, lease: Int64, now: Int64) async throws -> Deletion? {
    try await change(id) { deletion, _ in
      DeletionRule.erased(deletion, name, lease: lease, now: now)
    }
  }

  package func keep(_ id: Int64, failure: String, now: Int64) async throws -> Deletion? {
    try await change(id) { deletion, transaction in
      guard deletion.state == .open else { return deletion }
      try await transaction.execute(
        "update users set deleting_since = null where id = $1", [SQLValue(deletion.user)])
      try AuditRows.write(
        .userDeletionGivenUp, by: RequestOrigin(deletion.actor), user: deletion.user, result: .refused,
        reason: failure, now: now, transaction)
      return DeletionRule.kept(deletion, failure, now: now)
    }
  }

  package func finish(_ id: Int64, now: Int64) async throws -> Result<Deletion, DeletionRefusal> {
    do {
      return .success(
        try await database.accountStep { transaction in
          try await FinishDeletionStep(id: id, now: now, transaction: transaction).run()
        })
    } catch let refusal as DeletionRefusal {
      return .failure(refusal)
    } catch let error as DatabaseError {
      // Also one that the database tells no sooner than at the commit.
      guard let refusal = DeletionRefusal(error) else { throw error }
      return .failure(refusal)
    }
  }

  package func postpone(_ id: Int64, failure: String, now: Int64) async throws -> Deletion? {
    try await change(id) { deletion, _ in DeletionRule.postponed(deletion, failure, now: now) }
  }

  package func claim(lease: Int64, now: Int64) async throws -> Deletion? {
    try await database.accountStep { transaction in
      while true {
        let id = try await transaction.first(
          """
          select id from deletions where next_try <= $1 or next_try > $2 order by next_try, id limit 1\(transaction.skippingLocked)
          """, [.integer(now), .integer(now.addingReportingOverflow(DeletionRule.longestDelay).partialValue)]
        ) { $0.int64(0) }
        guard let id, let found = try await DeletionRows.deletion(id, transaction) else { return nil }
        var returned: [Int64] = []
        for waiting in found.waiting {
          if try await Self.isBack(waiting.token, found.user, transaction) { returned.append(waiting.id) }
        }
        var deletion = DeletionRule.superseded(found, tokens: returned, now: now)
        deletion.nextTry = lease
        deletion = try await DeletionRows.write(deletion, transaction)
        if deletion.isUnfinished { return deletion }
      }
    }
  }

  package func deletion(_ name: DeletionName) async throws -> Deletion? {
    try await database.read { try await DeletionRows.deletion(name, $0) }
  }

  // MARK: For operators

  package func deletions(all: Bool, limit: Int64) async throws -> [Deletion] {
    try await database.read { transaction in
      try await DeletionRows.deletions(
        where: all
          ? "1 = 1"
          : "next_try is not null or exists (select 1 from deletion_tokens t where t.deletion = deletions.id)",
        [], limit: limit, transaction)
    }
  }

  package func retry(_ operation: OperationID, now: Int64) async throws -> Deletion? {
    let found = try await deletion(.operation(operation))
    guard let found else { return nil }
    return try await change(found.id) { deletion, _ in
      deletion.state == .kept ? deletion : DeletionRule.retried(deletion, now: now)
    }
  }

  package func forget(before time: Int64, leavingBefore: Int64) async throws -> Int {
    try await database.accountStep { transaction in
      let settled = try await transaction.execute(
        """
        delete from deletions where closed_at < $1 and next_try is null
          and not exists (select 1 from deletion_tokens t where t.deletion = deletions.id)
        """, [.integer(time)])
      return settled
        + (try await transaction.execute(
          "delete from deletions where closed_at < $1", [.integer(leavingBefore)]))
    }
  }

  /// Whether somebody who is not the deleted user has the identity by now: the person came back.
  private static func isBack(
    _ token: SealedAppleToken, _ user: UUID, _ transaction: Transaction
  ) async throws -> Bool {
    let identity = try await UserRows.identity(
      provider: "apple", teamID: token.teamID, subject: token.subject, transaction)
    return identity.map { $0.userID != user } ?? false
  }

  /// Writes what the body makes of the deletion; users are locked before their deletions.
  private func change(
    _ id: Int64, _ body: @escaping @Sendable (Deletion, Transaction) async throws -> Deletion
  ) async throws -> Deletion? {
    try await database.accountStep { transaction in
      guard let seen = try await DeletionRows.deletion(id, transaction) else { return nil }
      _ = try await UserRows.user(seen.user, locked: true, transaction)
      guard let deletion = try await DeletionRows.deletion(id, locked: true, transaction) else { return nil }
      let changed = try await body(deletion, transaction)
      return changed == deletion ? deletion : try await DeletionRows.write(changed, transaction)
    }
  }
}
