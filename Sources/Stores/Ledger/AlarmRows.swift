import Accounts
import Admission
import Encodings
import Gateway
import SQL

/// What the app's backend is told of a limit, in the transaction that reaches it.
enum AlarmRows {
  static func insertion(_ alarm: LimitAlarm, _ dialect: Dialect) -> Query {
    EventRows.insertion(event(alarm), dialect)
  }

  private static func event(_ alarm: LimitAlarm) -> OutgoingEvent {
    var members: [(String, JSONValue)] = [
      ("rule", .string(alarm.rule)), ("unit", .string(alarm.unit.rawValue)),
      ("percent", .integer(alarm.share)),
      ("limit", .integer(alarm.limit)), ("used", .integer(alarm.used)),
      ("window_start", .integer(alarm.start / 1_000)),
    ]
    // What lasts for ever has no end.
    if alarm.end < .max { members.append(("window_end", .integer(alarm.end / 1_000))) }
    var user: UUID?
    switch alarm.subject {
    case .device(let id): members += [("subject", "key"), ("device", .integer(id))]
    case .named(.user, let name):
      members.append(("subject", "user"))
      user = UUID(name)
    case .named(.app, let name): members += [("subject", "app"), ("app", .string(name))]
    case .named(.address, let name): members += [("subject", "address"), ("address", .string(name))]
    case .named(.debugToken, let name): members += [("subject", "debug_token"), ("token", .string(name))]
    case .named(.person, _): members.append(("subject", "person"))
    case .named(.everyone, _): members.append(("subject", "everyone"))
    }
    return OutgoingEvent(
      alarm.unit == .money ? .budgetReached : .quotaReached, user: user, members, time: alarm.time)
  }
}

/// Whose row of the ledger one is, asked for where that has to be told.
enum LineOwner {
  static func find(
    _ key: LineRows.Key, _ transaction: SQLiteTransaction
  ) throws -> (subject: LineSubject, rule: String) {
    let rule = try transaction.first("select name from rules where id = $1", [.integer(key.rule)]) {
      $0.string(0)
    }
    guard key.subject < 0 else { return (.device(key.subject), rule ?? "") }
    let subject = try transaction.first(
      "select kind, name from subjects where id = $1", [.integer(-key.subject)]
    ) { row in
      LineSubject.Kind(rawValue: row.int64(0)).map { LineSubject.named($0, row.string(1)) }
    }
    return (subject.flatMap(\.self) ?? .named(.everyone, ""), rule ?? "")
  }
}
