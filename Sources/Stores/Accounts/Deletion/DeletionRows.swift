import Accounts
import Encodings
import SQL

/// Rows of deletions. They are locked after their users.
enum DeletionRows {
  /// Names that a deletion has at most, beside its own: who asks with ever new ones has the id in every answer.
  private static let nameLimit: Int64 = 16

  private static let columns = """
    id, operation, user_id, actor, operator, policy, state, owed, identities, revoked, superseded, attempts, next_try,
    failure, created_at, updated_at, closed_at, reason
    """

  static func deletion(
    _ id: Int64, locked: Bool = false, _ transaction: Transaction
  ) async throws -> Deletion? {
    try await first(
      "id = $1\(locked ? transaction.locking : "")", [.integer(id)], transaction)
  }

  static func deletion(
    _ name: DeletionName, locked: Bool = false, _ transaction: Transaction
  ) async throws -> Deletion? {
    let end = locked ? transaction.locking : ""
    switch name {
    case .user(let user):
      return try await first("user_id = $1 order by id desc limit 1\(end)", [SQLValue(user)], transaction)
    case .operation(let operation):
      let name = SQLValue.blob(operation.octets)
      return try await first(
        "operation = $1 or id = (select deletion from deletion_names where operation = $1)\(end)", [name],
        transaction)
    }
  }

  /// Those that a condition holds for, oldest first.
  static func deletions(
    where condition: String, _ values: [SQLValue], limit: Int64, _ transaction: Transaction
  ) async throws -> [Deletion] {
    let rows = try await transaction.rows(
      "select \(columns) from deletions where \(condition) order by id limit \(max(limit, 0))", values
    ) { try read($0) }
    var deletions: [Deletion] = []
    for row in rows { deletions.append(try await complete(row, transaction)) }
    return deletions
  }

  /// A name for a deletion that nobody will ask about.
  static func freshName(_ transaction: Transaction) async throws -> OperationID {
    let random =
      switch transaction.dialect {
      case .sqlite: "randomblob(16)"
      case .postgreSQL: "uuid_send(gen_random_uuid())"
      }
    for _ in 0..<8 {
      if let name = try await transaction.first("select \(random)", [], { OperationID($0.bytes(0)) }) ?? nil {
        return name
      }
    }
    throw DatabaseError.conflict
  }

  /// Another name for it, unless it has enough of them.
  static func name(_ deletion: Deletion, _ operation: OperationID, _ transaction: Transaction) async throws {
    guard operation != deletion.operation else { return }
    let count = try await transaction.first(
      "select count(*) from deletion_names where deletion = $1", [.integer(deletion.id)]
    ) { $0.int64(0) }
    guard let count, count < nameLimit else { return }
    try await transaction.execute(
      "insert into deletion_names (operation, deletion) values ($1, $2) on conflict do nothing",
      [.blob(operation.octets), .integer(deletion.id)])
  }

  /// Writes it, in the place of its row if it has one; the deletion with the ids of its rows.
  static func write(_ deletion: Deletion, _ transaction: Transaction) async throws -> Deletion {
    var deletion = deletion
    if !deletion.isUnfinished { deletion.nextTry = 0 }
    if deletion.id == 0 {
      let id = try await transaction.first(
        """
        insert into deletions (operation, user_id, actor, operator, policy, state, owed, identities, revoked, superseded,
          attempts, next_try, failure, created_at, updated_at, closed_at, reason)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        on conflict do nothing returning id
        """, values(deletion)
      ) { $0.int64(0) }
      // Somebody else's has the name since: this step is begun anew, and finds it.
      guard let id else { throw DatabaseError.conflict }
      deletion.id = id
    } else {
      try await transaction.execute(
        """
        update deletions set operation = $1, user_id = $2, actor = $3, operator = $4, policy = $5, state = $6,
          owed = $7, identities = $8, revoked = $9, superseded = $10, attempts = $11, next_try = $12,
          failure = $13, created_at = $14, updated_at = $15, closed_at = $16, reason = $17
        where id = $18
        """, values(deletion) + [.integer(deletion.id)])
    }
    try await writeTokens(&deletion, transaction)
    return deletion
  }

  private static func writeTokens(_ deletion: inout Deletion, _ transaction: Transaction) async throws {
    let stored = try await tokens(of: deletion.id, transaction)
    for token in stored where !deletion.tokens.contains(where: { $0.id == token.id }) {
      try await transaction.execute("delete from deletion_tokens where id = $1", [.integer(token.id)])
    }
    for (place, token) in deletion.tokens.enumerated() {
      guard token.id == 0 else {
        if stored.first(where: { $0.id == token.id })?.isDead != token.isDead {
          try await transaction.execute(
            "update deletion_tokens set dead = $2 where id = $1",
            [.integer(token.id), SQLValue(token.isDead)])
        }
        continue
      }
      deletion.tokens[place].id = try await transaction.insert(
        """
        insert into deletion_tokens (deletion, team_id, subject, client_id, sealing_key, sealed, dead)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        [
          .integer(deletion.id), .text(token.token.teamID), .text(token.token.subject),
          .text(token.token.clientID), .text(token.token.sealingKey), .blob(token.token.sealed),
          SQLValue(token.isDead),
        ])
    }
  }

  private static func first(
    _ condition: String, _ values: [SQLValue], _ transaction: Transaction
  ) async throws -> Deletion? {
    let found = try await transaction.first("select \(columns) from deletions where \(condition)", values) {
      try read($0)
    }
    guard let found else { return nil }
    return try await complete(found, transaction)
  }

  private static func complete(_ deletion: Deletion, _ transaction: Transaction) async throws -> Deletion {
    var deletion = deletion
    deletion.tokens = try await tokens(of: deletion.id, transaction)
    return deletion
  }

  private static func tokens(of deletion: Int64, _ transaction: Transaction) async throws -> [DeletionToken] {
    try await transaction.rows(
      """
      select id, team_id, subject, client_id, sealing_key, sealed, dead from deletion_tokens
      where deletion = $1 order by id
      """, [.integer(deletion)]
    ) {
      DeletionToken(
        id: $0.int64(0),
        SealedAppleToken(
          teamID: $0.string(1), subject: $0.string(2), clientID: $0.string(3), sealingKey: $0.string(4),
          sealed: $0.bytes(5), nextCheck: 0),
        isDead: $0.bool(6))
    }
  }

  private static func read(_ row: Row) throws -> Deletion {
    guard let operation = OperationID(row.bytes(1)),
      let actor = RequestOrigin.Actor(word: row.string(3), key: row.optionalString(4)),
      let policy = Deletion.Policy(rawValue: row.string(5)),
      let state = Deletion.State(rawValue: row.int64(6))
    else { throw DatabaseError.corrupt("a deletion cannot be read") }
    return Deletion(
      id: row.int64(0), operation: operation, user: try row.uuid(2), actor: actor, policy: policy,
      reason: row.optionalString(17), state: state,
      owed: row.string(7).split(separator: ",").map(String.init), identities: row.int64(8),
      revoked: row.int64(9), superseded: row.int64(10), attempts: row.int64(11),
      nextTry: row.optionalInt64(12) ?? 0, failure: row.optionalString(13), createdAt: row.int64(14),
      updatedAt: row.int64(15), closedAt: row.optionalInt64(16))
  }

  private static func values(_ deletion: Deletion) -> [SQLValue] {
    [
      .blob(deletion.operation.octets), SQLValue(deletion.user), .text(deletion.actor.word),
      SQLValue(deletion.actor.key),
      .text(deletion.policy.rawValue), .integer(deletion.state.rawValue),
      .text(deletion.owed.joined(separator: ",")), .integer(deletion.identities), .integer(deletion.revoked),
      .integer(deletion.superseded), .integer(deletion.attempts),
      deletion.isUnfinished ? .integer(deletion.nextTry) : .null, SQLValue(deletion.failure),
      .integer(deletion.createdAt), .integer(deletion.updatedAt), SQLValue(deletion.closedAt),
      SQLValue(deletion.reason),
    ]
  }
}
