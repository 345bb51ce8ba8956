import Accounts
import Encodings
import SQL

/// Rows of events on their way out, written in the transaction of the change that they tell of.
enum EventRows {
  /// A row for every endpoint that takes events of the kind, and none where nobody does: one look into an index. For
  /// an endpoint that wants no more it is dead at once, and can be replayed.
  static func insert(_ event: OutgoingEvent, _ transaction: Transaction) throws {
    try transaction.enqueue(insertion(event, transaction.dialect))
  }

  /// The same, for whoever has a transaction of one dialect alone.
  static func insertion(_ event: OutgoingEvent, _ dialect: Dialect) -> Query {
    let id =
      switch dialect {
      case .sqlite: "lower(hex(randomblob(16)))"
      case .postgreSQL: "replace(gen_random_uuid()::text, '-', '')"
      }
    // Due by the clock that says so later: a node's own may be ahead of it.
    let due =
      switch dialect {
      case .sqlite: "$5"
      case .postgreSQL: "least($5::bigint, \(LeaseClock.serverTime))"
      }
    return Query(
      """
      insert into outgoing_events (webhook_id, endpoint, type, user_id, data, contact, created_at, state, attempts,
        next_try, ended_at, outcome)
      select 'evt_' || \(id), e.id, $1, $2, $3, $4, $5, case when e.closed_at is null then 0 else 2 end, 0, \(due),
        case when e.closed_at is null then null else $5 end,
        case when e.closed_at is null then null else 'endpoint closed' end
      from event_subscriptions s join event_endpoints e on e.id = s.endpoint where s.type = $1
      """,
      [
        .text(event.kind.rawValue), SQLValue(event.user?.description), SQLValue(event.data),
        SQLValue(event.contact?.json.text), .integer(event.time),
      ])
  }

  /// Forgets the address of a user who goes, also in what was delivered.
  static func eraseContact(of user: UUID, _ transaction: Transaction) throws {
    try transaction.enqueue(
      "update outgoing_events set contact = null where user_id = $1 and contact is not null",
      [.text(user.description)])
  }
}
