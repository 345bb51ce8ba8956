package import Accounts
package import Encodings
package import SQL

/// Flows in browsers in a database.
package struct SQLWebFlowStore: WebFlowStore {
  private let database: Database

  private static let columns = """
    id, state_hash, browser_hash, nonce, client_id, redirect_to, code_challenge, is_s256, linking, expires_at
    """

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func begin(_ flow: WebFlow) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        "insert into web_flows (\(Self.columns)) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        [
          SQLValue(flow.id), .blob(flow.stateHash), SQLValue(flow.browserHash), .text(flow.nonce),
          .text(flow.clientID), .text(flow.redirectTo), SQLValue(flow.codeChallenge),
          SQLValue(flow.isS256), SQLValue(flow.linking), .integer(flow.expiresAt),
        ])
    }
  }

  package func answer(_ stateHash: [UInt8], now: Int64) async throws -> WebFlow? {
    try await database.accountStep { transaction in
      try await transaction.first(
        """
        update web_flows set answered_at = $2
        where state_hash = $1 and answered_at is null and expires_at > $2
        returning \(Self.columns)
        """, [.blob(stateHash), .integer(now)]
      ) { try Self.read($0) }
    }
  }

  package func complete(
    _ flow: UUID, with assertion: IdentityAssertion, token: SealedAppleToken?, codeHash: [UInt8],
    expiresAt: Int64
  ) async throws {
    let text = AssertionText.spell(assertion, token)
    try await database.accountStep { transaction in
      try await transaction.execute(
        """
        update web_flows set assertion = $2, code_hash = $3, expires_at = $4
        where id = $1 and answered_at is not null and assertion is null
        """, [SQLValue(flow), .text(text), .blob(codeHash), .integer(expiresAt)])
    }
  }

  package func peek(_ codeHash: [UInt8]) async throws -> CompletedFlow? {
    try await database.read { transaction in
      try await transaction.first(
        """
        select \(Self.columns), assertion from web_flows
        where code_hash = $1 and assertion is not null
        """, [.blob(codeHash)]
      ) {
        let (assertion, token) = try AssertionText.read($0.string(10))
        return CompletedFlow(flow: try Self.read($0), assertion: assertion, token: token)
      }
    }
  }

  private static func read(_ row: Row) throws -> WebFlow {
    WebFlow(
      id: try row.uuid(0), stateHash: row.bytes(1), browserHash: row.optionalBytes(2),
      nonce: row.string(3), clientID: row.string(4), redirectTo: row.string(5),
      codeChallenge: row.optionalString(6), isS256: row.bool(7), linking: try row.optionalUUID(8),
      expiresAt: row.int64(9))
  }
}
