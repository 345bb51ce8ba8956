package import Accounts
import Encodings
package import SQL

/// Events on their way, in a database that all nodes share.
package struct SQLEventOutbox: EventOutbox {
  /// How long what waits for an endpoint that is not named any more is kept, milliseconds.
  private static let patience: Int64 = 3 * 86_400_000
  /// No next try is further off, milliseconds.
  private static let horizon: Int64 = 2 * 86_400_000
  private static let closed = "endpoint closed"

  private let database: Database
  private let clock: LeaseClock

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database, clock: LeaseClock = .database) {
    self.database = database
    self.clock = clock
  }

  package func subscribe(_ endpoints: [EventSubscription]) async throws {
    try await database.accountStep { transaction in
      try await transaction.lock(names: ["event subscriptions"])
      try await transaction.execute("delete from event_subscriptions")
      for endpoint in endpoints {
        try await transaction.execute(
          "insert into event_endpoints (url) values ($1) on conflict (url) do nothing", [.text(endpoint.url)])
        for kind in endpoint.kinds.sorted(by: { $0.rawValue < $1.rawValue }) {
          try transaction.enqueue(
            """
            insert into event_subscriptions (type, endpoint) select $1, id from event_endpoints where url = $2
            on conflict do nothing
            """, [.text(kind.rawValue), .text(endpoint.url)])
        }
      }
    }
  }

  package func claim(
    _ url: String, limit: Int64, lease: Int64, now: Int64
  ) async throws -> [EventDelivery] {
    // Most questions find nothing, and writing costs: look first.
    let isDue = try await database.read { transaction in
      try await transaction.first(
        "select 1 from outgoing_events where \(Self.due) limit 1",
        [.text(url), .integer(try await clock.time(transaction, now: now))]
      ) { _ in true } ?? false
    }
    guard isDue else { return [] }
    return try await database.accountStep { transaction in
      let now = try await clock.time(transaction, now: now)
      let taken = try await transaction.rows(
        """
        with due as materialized (
          select id from outgoing_events where \(Self.due) order by next_try, id limit $3\(transaction.skippingLocked))
        update outgoing_events set attempts = attempts + 1, next_try = $4 where id in (select id from due)
        returning id, webhook_id, type, attempts, created_at, data, contact
        """,
        [.text(url), .integer(now), .integer(max(limit, 0)), .integer(now + max(lease, 0))]
      ) {
        let (type, time) = ($0.string(2), $0.int64(4))
        return EventDelivery(
          number: $0.int64(0), id: $0.string(1), type: type,
          body: EventText.body(
            type: type, time: time, data: try $0.json(5), contact: $0.isNull(6) ? nil : try $0.json(6)),
          attempt: $0.int64(3))
      }
      return taken.sorted { $0.number < $1.number }
    }
  }

  /// For the endpoint `$1`, at `$2`.
  private static let due = """
    endpoint = (select id from event_endpoints where url = $1) and state = 0 and next_try <= $2
    """

  package func delivered(_ delivery: EventDelivery, outcome: String, now: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        "update outgoing_events set state = 1, ended_at = $2, outcome = $3 where id = $1 and state <> 1",
        [.integer(delivery.number), .integer(now), .text(outcome)])
    }
  }

  package func failed(
    _ delivery: EventDelivery, outcome: String, delay: Int64?, now: Int64
  ) async throws -> Bool {
    try await database.accountStep { transaction in
      let due = try await clock.time(transaction, now: now) + (delay ?? 0)
      return try await transaction.execute(
        """
        update outgoing_events set next_try = $3, outcome = $4, state = $5, ended_at = $6
        where id = $1 and attempts = $2 and state = 0
        """,
        [
          .integer(delivery.number), .integer(delivery.attempt), .integer(due), .text(outcome),
          .integer((delay == nil ? EventState.dead : .waiting).rawValue),
          SQLValue(delay == nil ? now : nil),
        ]) > 0
    }
  }

  package func close(_ url: String, now: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        "update event_endpoints set closed_at = $2 where url = $1 and closed_at is null",
        [.text(url), .integer(now)])
      try await transaction.execute(
        """
        update outgoing_events set state = 2, ended_at = $2, outcome = $3
        where endpoint = (select id from event_endpoints where url = $1) and state = 0
        """, [.text(url), .integer(now), .text(Self.closed)])
    }
  }

  package func replay(_ selection: EventSelection, now: Int64) async throws -> Int {
    let (condition, value): (String, SQLValue?) =
      switch selection {
      case .id(let id): ("webhook_id = $1 and state <> 0", .text(id))
      case .dead(nil): ("state = 2", nil)
      case .dead(let url?):
        ("state = 2 and endpoint = (select id from event_endpoints where url = $1)", .text(url))
      }
    let values = [value].compactMap { $0 }
    return try await database.accountStep { transaction in
      try await transaction.execute(
        """
        update event_endpoints set closed_at = null where closed_at is not null and id in
          (select endpoint from outgoing_events where \(condition))
        """, values)
      return try await transaction.execute(
        """
        update outgoing_events set state = 0, attempts = 0, next_try = $\(values.count + 1), ended_at = null, outcome = null
        where \(condition)
        """, values + [.integer(now)])
    }
  }

  package func events(
    _ state: EventState?, url: String?, before: Int64?, limit: Int64
  ) async throws -> [EventRecord] {
    var values: [SQLValue] = [.integer(before ?? .max), .integer(max(limit, 0))]
    var conditions = ["o.id < $1"]
    if let state {
      values.append(.integer(state.rawValue))
      conditions.append("o.state = $\(values.count)")
    }
    if let url {
      values.append(.text(url))
      conditions.append("e.url = $\(values.count)")
    }
    let condition = conditions.joined(separator: " and ")
    let all = values
    return try await database.read { transaction in
      try await transaction.rows(
        """
        select o.id, o.webhook_id, o.type, e.url, o.user_id, o.created_at, o.state, o.attempts, o.next_try,
          o.ended_at, o.outcome
        from outgoing_events o join event_endpoints e on e.id = o.endpoint
        where \(condition) order by o.id desc limit $2
        """, all
      ) {
        EventRecord(
          number: $0.int64(0), id: $0.string(1), type: $0.string(2), url: $0.string(3),
          user: $0.optionalString(4), createdAt: $0.int64(5),
          state: EventState(rawValue: $0.int64(6)) ?? .dead,
          attempts: $0.int64(7), nextTry: $0.int64(8), endedAt: $0.optionalInt64(9),
          outcome: $0.optionalString(10))
      }
    }
  }

  package func tidy(endedBefore: Int64, limit: Int64, now: Int64) async throws -> Int {
    try await database.accountStep { transaction in
      // Written while a clock ran ahead: nothing waits for so long.
      let time = try await clock.time(transaction, now: now)
      try await transaction.execute(
        "update outgoing_events set next_try = $1 where state = 0 and next_try > $2",
        [.integer(time), .integer(time + Self.horizon)])
      try await transaction.execute(
        """
        update outgoing_events set state = 2, ended_at = $2, outcome = 'endpoint not configured'
        where state = 0 and created_at < $1 and not exists
          (select 1 from event_subscriptions s where s.endpoint = outgoing_events.endpoint)
        """, [.integer(now - Self.patience), .integer(now)])
      return try await transaction.execute(
        """
        delete from outgoing_events where id in
          (select id from outgoing_events where state <> 0 and ended_at < $1 order by ended_at limit $2)
        """, [.integer(endedBefore), .integer(max(limit, 0))])
    }
  }
}
