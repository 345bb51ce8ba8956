import Accounts
import Encodings
import SQL

/// Rows of anonymous users of whom nothing is seen any more (RULES §3.10).
enum IdleUserRows {
  static func candidates(
    since cutoff: Int64, after: UUID?, limit: Int64, _ transaction: Transaction
  ) async throws -> [UUID] {
    try await transaction.rows(
      """
      select u.id from users u
      where u.is_anonymous = 1 and u.deleting_since is null and u.created_at < $1 and u.updated_at < $1
        and not exists (select 1 from identities i where i.user_id = u.id)\(after == nil ? "" : " and u.id > $3")
        and not exists (select 1 from sessions s where s.user_id = u.id and s.refreshed_at >= $1)
      order by u.id limit $2
      """, [.integer(cutoff), .integer(max(limit, 1))] + (after.map { [SQLValue($0)] } ?? [])
    ) { try $0.uuid(0) }
  }
}
