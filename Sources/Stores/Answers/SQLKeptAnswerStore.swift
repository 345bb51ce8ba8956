package import Gateway
package import SQL

/// Kept answers in a database that all nodes share.
package struct SQLKeptAnswerStore: KeptAnswerStore {
  private enum State: Int64 {
    case running
    case kept
    case incomplete
  }

  private let database: Database
  private let clock: LeaseClock

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database, clock: LeaseClock = .database) {
    self.database = database
    self.clock = clock
  }

  package func claim(
    _ claim: AnswerClaim, lease: Int64, life: Int64, now: Int64
  ) async throws -> AnswerState {
    try await database.write { transaction in
      let now = try await clock.time(transaction, now: now)
      try await transaction.execute(
        "delete from kept_answers where id = $1 and erase_at <= $2", [.blob(claim.id), .integer(now)])
      // One conditional insert: of two that come at once the second waits, and finds the first's row.
      let made = try await transaction.execute(
        """
        insert into kept_answers (id, body_hash, run, user_id, state, leased_until, erase_at)
        values ($1, $2, $3, (select id from users where id = $4), $5, $6, $7) on conflict (id) do nothing
        """,
        [
          .blob(claim.id), .blob(claim.bodyHash), .blob(claim.run), claim.user.map { .uuid($0) } ?? .null,
          .integer(State.running.rawValue), .integer(now + lease), .integer(now + lease + life),
        ])
      if made > 0 { return .claimed }
      return try await Self.state(claim.id, bodyHash: claim.bodyHash, now: now, transaction)
    }
  }

  package func state(_ id: [UInt8], now: Int64) async throws -> AnswerState {
    try await database.read { transaction in
      try await Self.state(id, bodyHash: nil, now: try await clock.time(transaction, now: now), transaction)
    }
  }

  package func renew(
    _ id: [UInt8], run: [UInt8], lease: Int64, life: Int64, now: Int64
  ) async throws -> Bool {
    try await database.write { transaction in
      let now = try await clock.time(transaction, now: now)
      return try await transaction.execute(
        "update kept_answers set leased_until = $3, erase_at = $4 where id = $1 and run = $2 and state = 0",
        [.blob(id), .blob(run), .integer(now + lease), .integer(now + lease + life)]) > 0
    }
  }

  package func finish(
    _ id: [UInt8], run: [UInt8], sealed: [UInt8]?, life: Int64, now: Int64
  ) async throws -> Bool {
    try await database.write { transaction in
      let now = try await clock.time(transaction, now: now)
      let state = sealed == nil ? State.incomplete : .kept
      return try await transaction.execute(
        """
        update kept_answers set state = $3, sealed = $4, erase_at = $5
        where id = $1 and run = $2 and state = 0
        """,
        [
          .blob(id), .blob(run), .integer(state.rawValue), sealed.map { .blob($0) } ?? .null,
          .integer(now + life),
        ]) > 0
    }
  }

  package func withdraw(_ id: [UInt8], run: [UInt8]) async throws {
    try await database.write { transaction in
      _ = try await transaction.execute(
        "delete from kept_answers where id = $1 and run = $2 and state = 0", [.blob(id), .blob(run)])
    }
  }

  package func sweep(now: Int64) async throws -> Int {
    let limit = 500
    let isDue = try await database.read { transaction in
      try await transaction.first(
        "select exists (select 1 from kept_answers where erase_at <= $1)",
        [.integer(try await clock.time(transaction, now: now))]
      ) { $0.bool(0) } ?? false
    }
    guard isDue else { return 0 }
    return try await database.write { transaction in
      try await transaction.execute(
        """
        delete from kept_answers where id in (
          select id from kept_answers where erase_at <= $1 order by erase_at limit $2)
        """, [.integer(try await clock.time(transaction, now: now)), .integer(Int64(limit))])
    }
  }

  package func holder(
    ofSession hash: [UInt8], now: Int64
  ) async throws -> (keyID: [UInt8], userID: String?)? {
    try await database.read { transaction in
      try await transaction.first(
        """
        select device_keys.key_id, session_tokens.user_id
        from session_tokens join device_keys on device_keys.id = session_tokens.device
        where session_tokens.hash = $1 and session_tokens.expiry > $2
        """, [.blob(hash), .integer(now / 1000)]
      ) { ($0.bytes(0), $0.optionalString(1)) }
    }
  }

  private static func state(
    _ id: [UInt8], bodyHash: [UInt8]?, now: Int64, _ transaction: Transaction
  ) async throws -> AnswerState {
    try await transaction.first(
      "select body_hash, state, sealed, leased_until, erase_at, run from kept_answers where id = $1",
      [.blob(id)]
    ) { row -> AnswerState in
      if row.int64(4) <= now { return .free }
      if let bodyHash, row.bytes(0) != bodyHash { return .mismatched }
      let run = row.bytes(5)
      switch State(rawValue: row.int64(1)) {
      case .running: return row.int64(3) > now ? .running(run: run) : .incomplete(run: run)
      case .kept: return row.isNull(2) ? .incomplete(run: run) : .kept(row.bytes(2))
      case .incomplete, nil: return .incomplete(run: run)
      }
    } ?? .free
  }
}
