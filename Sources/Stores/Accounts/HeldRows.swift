import Encodings
import SQL

/// What the database holds about a user beside the user and their identities, for themself to read. No secret is in
/// it; of each there is a word that it exists.
enum HeldRows {
  enum Kind {
    /// Milliseconds since 1970.
    case time
    /// Seconds since 1970.
    case seconds
    case text
    case number
    case flag
    case uuid
    /// Octets that are no secret, in base64.
    case octets
    case json
  }

  /// One list.
  struct Part {
    let name: String
    /// The tables that it is from.
    let tables: [String]
    /// Selects the columns for the user `$1`.
    let sql: String
    /// Whether `$1` is the user's id as a text.
    var isText = false
    let columns: [(name: String, kind: Kind)]
    /// What the rows hold and nobody is told, and how it is kept.
    var secrets: [(name: String, word: String)] = []
  }

  /// Tables with rows about a user that are in no part, and why.
  static let untold = [
    "users": "the account itself", "identities": "the account itself",
    "used_identity_tokens": "hashes of tokens of a day", "apple_challenges": "hashes of ten minutes",
    "kept_answers": "answers of ten minutes, sealed with what the user alone has",
    "objects": "listed beside this, as what is owned", "object_pieces": "the contents of objects",
    "deletion_tokens": "who is being deleted asks for nothing any more",
  ]

  static let parts = [
    Part(
      name: "sessions", tables: ["sessions"],
      sql: """
        select id, created_at, refreshed_at, auth_time, methods, key_id, acknowledged_at from sessions
        where user_id = $1 order by created_at, id
        """,
      columns: [
        ("id", .uuid), ("created_at", .time), ("refreshed_at", .time), ("auth_time", .seconds),
        ("methods", .text), ("device_key", .octets), ("first_used_at", .time),
      ], secrets: [("refresh_token", "made when it is asked for, not kept")]),
    Part(
      name: "apple_refresh_tokens", tables: ["apple_tokens"],
      sql: """
        select t.client_id, t.updated_at from apple_tokens t join identities i on i.id = t.identity
        where i.user_id = $1 order by t.id
        """,
      columns: [("client_id", .text), ("updated_at", .time)], secrets: [("token", "kept encrypted")]),
    Part(
      name: "switch_tickets", tables: ["switch_tickets"],
      sql: "select issued_at, expires_at, used_at from switch_tickets where user_id = $1 order by issued_at",
      columns: [("issued_at", .time), ("expires_at", .time), ("used_at", .time)],
      secrets: [("ticket", "kept as a hash")]),
    Part(
      name: "left_behind", tables: ["left_users"],
      sql: """
        select l.user_id, l.word from left_users l join sessions s on s.id = l.session where s.user_id = $1
        order by l.session
        """, columns: [("anonymous_user", .uuid), ("said", .text)]),
    Part(
      name: "browser_flows", tables: ["web_flows"],
      sql: """
        select client_id, redirect_to, expires_at from web_flows
        where linking in (select id from sessions where user_id = $1) order by expires_at
        """,
      columns: [("client_id", .text), ("redirect_to", .text), ("expires_at", .time)],
      secrets: [("state", "kept as a hash")]),
    Part(
      name: "apple_notifications", tables: ["apple_events"],
      sql: """
        select e.type, e.event_time, e.outcome from apple_events e join identities i
          on i.provider = 'apple' and i.team_id = e.team_id and i.subject = e.subject
        where i.user_id = $1 order by e.id
        """,
      columns: [("type", .text), ("time", .time), ("outcome", .text)]),
    Part(
      name: "ended_apple_consents", tables: ["apple_revocations"],
      sql: """
        select r.revoked_at from apple_revocations r join identities i
          on i.provider = 'apple' and i.team_id = r.team_id and i.subject = r.subject
        where i.user_id = $1
        """, columns: [("time", .time)]),
    Part(
      name: "team_transfers", tables: ["transferred_identities"],
      sql: """
        select t.source, t.target, m.result, m.updated_at from transferred_identities m
          join team_transfers t on t.id = m.transfer join identities i on i.id = m.identity
        where i.user_id = $1 order by t.id
        """, columns: [("from", .text), ("to", .text), ("result", .text), ("time", .time)]),
    Part(
      name: "deletions", tables: ["deletions"],
      sql: "select created_at, closed_at, failure from deletions where user_id = $1 order by id",
      columns: [("created_at", .time), ("closed_at", .time), ("failure", .text)]),
    Part(
      name: "devices", tables: ["device_states"],
      sql: """
        select k.key_id, k.app_id, k.registered_at, k.os_version, k.platform, k.bundle_version
        from device_states s join device_keys k on k.id = s.device where s.user_id = $1 order by k.id
        """, isText: true,
      columns: [
        ("key", .octets), ("app", .text), ("registered_at", .seconds), ("os_version", .text),
        ("platform", .text), ("bundle_version", .text),
      ]),
    Part(
      name: "device_sessions", tables: ["session_tokens"],
      sql: "select routes, expiry from session_tokens where user_id = $1 order by id", isText: true,
      columns: [("routes", .text), ("expires_at", .seconds)], secrets: [("token", "kept as a hash")]),
    Part(
      name: "allowances", tables: ["subjects", "lines"],
      sql: """
        select r.name, p.name, l.used, l.held from subjects s join lines l on l.subject = -s.id
          join rules r on r.id = l.rule left join periods p on p.id = l.period
        where s.name = $1 order by l.rule, l.period
        """, isText: true,
      columns: [("rule", .text), ("period", .text), ("used", .number), ("held", .number)]),
    Part(
      name: "usage", tables: ["usage"],
      sql: """
        select started_at, route, provider, model, status, input_tokens, output_tokens, cost from usage
        where user_id = $1 order by id
        """, isText: true,
      columns: [
        ("time", .time), ("route", .text), ("provider", .text), ("model", .text), ("status", .number),
        ("input_tokens", .number), ("output_tokens", .number), ("cost_picodollars", .number),
      ]),
    Part(
      name: "queued_calls", tables: ["queued_calls"],
      sql: """
        select submitted_at, route, provider, model, ended_at from queued_calls where user_id = $1
        order by submitted_at
        """, isText: true,
      columns: [
        ("time", .time), ("route", .text), ("provider", .text), ("model", .text), ("ended_at", .time),
      ]),
    Part(
      name: "events", tables: ["outgoing_events"],
      sql: """
        select type, created_at, data, contact from outgoing_events where user_id = $1 order by id
        """, isText: true,
      columns: [("type", .text), ("time", .time), ("data", .json), ("contact", .json)]),
    Part(
      name: "audit_log", tables: ["audit_log"],
      sql: """
        select time, action, result, actor, address, device, session, reason from audit_log
        where user_id = $1 order by id
        """,
      columns: [
        ("time", .time), ("action", .text), ("result", .text), ("actor", .text), ("address", .text),
        ("device_key", .octets), ("session", .uuid), ("reason", .text),
      ]),
  ]

  /// Every part as a member.
  static func read(_ user: UUID, _ transaction: Transaction) async throws -> JSONValue {
    var members: [(String, JSONValue)] = []
    for part in parts {
      let value = part.isText ? SQLValue.text(user.description) : SQLValue(user)
      let rows = try await transaction.rows(part.sql, [value]) { row in
        JSONValue.object(
          try part.columns.enumerated().compactMap { place, column in
            let place = Int32(clamping: place)
            if row.isNull(place) { return nil }
            return (column.name, try Self.value(row, place, column.kind))
          } + part.secrets.map { ($0.name, .string($0.word)) })
      }
      members.append((part.name, .array(rows)))
    }
    return .object(members)
  }

  private static func value(_ row: Row, _ column: Int32, _ kind: Kind) throws -> JSONValue {
    switch kind {
    case .time: .string(CivilTime(secondsSince1970: row.int64(column) / 1_000).rfc3339)
    case .seconds: .string(CivilTime(secondsSince1970: row.int64(column)).rfc3339)
    case .text: .string(row.string(column))
    case .number: .integer(row.int64(column))
    case .flag: .bool(row.bool(column))
    case .uuid: .string(try row.uuid(column).description)
    case .octets: .string(Base64.encode(row.bytes(column)))
    case .json: try row.json(column)
    }
  }
}
