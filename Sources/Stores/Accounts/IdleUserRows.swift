import Accounts
import Encodings
import SQL

/// Rows of anonymous users of whom nothing is seen any more (RULES §3.10).
enum IdleUserRows {
  private static let isIdle = """
    u.is_anonymous = 1 and u.deleting_since is null and u.created_at < $1 and u.updated_at < $1
    and not exists (select 1 from identities i where i.user_id = u.id)
    """

  static func candidates(
    since cutoff: Int64, after: UUID?, limit: Int64, _ transaction: Transaction
  ) throws -> [UUID] {
    try transaction.rows(
      """
      select u.id from users u
      where \(isIdle)\(after == nil ? "" : " and u.id > $3")
        and not exists (select 1 from sessions s where s.user_id = u.id and s.refreshed_at >= $1)
      order by u.id limit $2
      """, [.integer(cutoff), .integer(max(limit, 1))] + (after.map { [SQLValue($0)] } ?? [])
    ) { try $0.uuid(0) }
  }

  /// Removes the user, if they are idle still; false where something was seen of them meanwhile.
  static func remove(_ id: UUID, since cutoff: Int64, now: Int64, _ transaction: Transaction) throws -> Bool {
    let user = try transaction.first(
      "select 1 from users u where u.id = $2 and \(isIdle)\(transaction.locking)",
      [.integer(cutoff), SQLValue(id)]
    ) { _ in true }
    guard user != nil else { return false }
    // Locked before they are looked at: a refresh locks its session alone, and may be on its way.
    let refreshed = try transaction.rows(
      "select refreshed_at from sessions where user_id = $1 order by id\(transaction.locking)", [SQLValue(id)]
    ) { $0.int64(0) }
    guard refreshed.allSatisfy({ $0 < cutoff }) else { return false }
    return try UserRows.delete(id, reason: "idle", now: now, transaction)
  }
}
