import Accounts
import Encodings
import SQL

/// Rows of identities that are on their way to another team.
enum TransferRows {
  private static let columns = "i.id, i.user_id, i.subject, i.transfer_subject, t.result, t.reason, i.team_id"

  /// Identities of the source's that wait for the step. $1 is the transfer, $2 its source.
  private static func waiting(_ step: TransferStep, again: Bool) -> String {
    let held = again ? "" : " and (t.result is null or t.result not in ('refused', 'conflict'))"
    let identifier = step == .export ? "is null" : "is not null"
    return """
      from identities i left join transferred_identities t on t.identity = i.id and t.transfer = $1
      where i.provider = 'apple' and i.team_id = $2 and i.transfer_subject \(identifier)\(held)
      """
  }

  static func waiting(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool, after: UUID?, limit: Int64,
    _ transaction: Transaction
  ) async throws -> [TransferUser] {
    try await transaction.rows(
      """
      select \(columns) \(waiting(step, again: again))\(after == nil ? "" : " and i.id > $4") order by i.id limit $3
      """,
      [.integer(transfer.id), .text(transfer.source), .integer(max(limit, 0))]
        + (after.map { [SQLValue($0)] } ?? [])
    ) { try read($0, transfer) }
  }

  static func count(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool, _ transaction: Transaction
  ) async throws -> Int64 {
    try await transaction.first(
      "select count(*) \(waiting(step, again: again))", [.integer(transfer.id), .text(transfer.source)]
    ) { $0.int64(0) } ?? 0
  }

  /// Those of the source's, and those that were.
  static func results(
    _ transfer: AccountTransfer, after: UUID?, limit: Int64, _ transaction: Transaction
  ) async throws -> [TransferUser] {
    try await transaction.rows(
      """
      select \(columns) from identities i
        left join transferred_identities t on t.identity = i.id and t.transfer = $1
      where i.provider = 'apple' and (i.team_id = $2 or t.transfer is not null)\(after == nil ? "" : " and i.id > $4")
      order by i.id limit $3
      """,
      [.integer(transfer.id), .text(transfer.source), .integer(max(limit, 0))]
        + (after.map { [SQLValue($0)] } ?? [])
    ) { try read($0, transfer) }
  }

  static func note(
    _ result: TransferResult, _ identity: UUID, _ transfer: AccountTransfer, reason: String? = nil,
    now: Int64,
    _ transaction: Transaction
  ) async throws {
    // Where the identity is gone there is nothing to note.
    try await transaction.execute(
      """
      insert into transferred_identities (transfer, identity, result, reason, updated_at)
      select $1, id, $3, $4, $5 from identities where id = $2
      on conflict (transfer, identity) do update
        set result = excluded.result, reason = excluded.reason, updated_at = excluded.updated_at
      """,
      [.integer(transfer.id), SQLValue(identity), .text(result.rawValue), SQLValue(reason), .integer(now)])
  }

  /// What was noted of an identity; nil where nothing was.
  static func result(
    _ identity: UUID, _ transfer: AccountTransfer, _ transaction: Transaction
  ) async throws -> TransferResult? {
    try await transaction.first(
      "select result from transferred_identities where transfer = $1 and identity = $2",
      [.integer(transfer.id), SQLValue(identity)]
    ) { TransferResult(rawValue: $0.string(0)) } ?? nil
  }

  private static func read(_ row: Row, _ transfer: AccountTransfer) throws -> TransferUser {
    let identifier = row.optionalString(3)
    var noted = row.optionalString(4).flatMap { TransferResult(rawValue: $0) }
    // Found by its identifier when its user signed in, which notes nothing here.
    if row.string(6) == transfer.target, noted != .transferred { noted = .signedInFirst }
    return TransferUser(
      identity: try row.uuid(0), user: try row.uuid(1), subject: row.string(2), identifier: identifier,
      result: noted ?? (identifier == nil ? .waiting : .exported), reason: row.optionalString(5))
  }
}
