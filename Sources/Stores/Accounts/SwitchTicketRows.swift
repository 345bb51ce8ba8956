import Accounts
import Encodings
import SQL

/// Rows of switch tickets (RULES §3.7).
enum SwitchTicketRows {
  static func ticket(
    _ hash: [UInt8], locked: Bool, _ transaction: Transaction
  ) async throws -> SwitchTicket? {
    try await transaction.first(
      """
      select bearer, provider, team_id, subject, user_id, issued_at, auth_time, expires_at, used_at, opened
      from switch_tickets where hash = $1\(locked ? transaction.locking : "")
      """, [.blob(hash)]
    ) {
      SwitchTicket(
        hash: hash, bearer: try $0.uuid(0), provider: $0.string(1), teamID: $0.string(2),
        subject: $0.string(3), user: try $0.uuid(4), issuedAt: $0.int64(5), authTime: $0.int64(6),
        expiresAt: $0.int64(7), usedAt: $0.optionalInt64(8), opened: try $0.optionalUUID(9))
    }
  }

  static func insert(_ ticket: SwitchTicket, _ transaction: Transaction) throws {
    try transaction.enqueue(
      """
      insert into switch_tickets (hash, bearer, provider, team_id, subject, user_id, issued_at, auth_time,
        expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      """,
      [
        .blob(ticket.hash), SQLValue(ticket.bearer), .text(ticket.provider), .text(ticket.teamID),
        .text(ticket.subject), SQLValue(ticket.user), .integer(ticket.issuedAt), .integer(ticket.authTime),
        .integer(ticket.expiresAt),
      ])
  }

  static func use(_ hash: [UInt8], opened: UUID, now: Int64, _ transaction: Transaction) throws {
    try transaction.enqueue(
      "update switch_tickets set used_at = $2, opened = $3 where hash = $1",
      [.blob(hash), .integer(now), SQLValue(opened)])
  }
}
