import Admission
import Gateway
import SQL

/// The numbers that rules, subjects and periods have in rows. Rows of these never change while they exist.
final class LedgerNames {
  struct Period {
    var id: Int64
    var name: String
    var start: Int64
    var end: Int64

    var window: Window { Window(id: name, start: start, end: end) }
  }

  /// A rule with the periods that it counted in.
  private final class Rule {
    let id: Int64
    var periods: [Period]
    /// The last answer, good for the same question until the period ends.
    var lastAsked: Window?
    var lastPeriod: Period?

    init(id: Int64, periods: [Period]) {
      self.id = id
      self.periods = periods
    }
  }

  private var rules: [String: Rule] = [:]
  private var subjects: [LineSubject: Int64] = [:]
  private var periods: [Int64: Period] = [:]

  var count: Int { subjects.count + periods.count }

  func forget() {
    rules = [:]
    subjects = [:]
    periods = [:]
  }

  /// The device's number, or another subject's negated.
  func subject(_ subject: LineSubject, _ transaction: SQLiteTransaction) throws -> Int64 {
    guard case .named(let kind, let name) = subject else {
      if case .device(let id) = subject { return id }
      return 0
    }
    if let known = subjects[subject] { return known }
    let values: [SQLValue] = [.integer(kind.rawValue), .text(name)]
    let kept = try transaction.first("select id from subjects where kind = $1 and name = $2", values) {
      $0.int64(0)
    }
    let id = try kept ?? transaction.insert("insert into subjects (kind, name) values ($1, $2)", values)
    subjects[subject] = -id
    return -id
  }

  /// The rule's number, and the period that governs at `now`; no period where none is asked.
  func find(
    _ name: String, _ asked: Window?, now: Int64, _ transaction: SQLiteTransaction
  ) throws -> (rule: Int64, period: Period?) {
    let rule = try rule(name, transaction)
    guard let asked else { return (rule.id, nil) }
    if let period = rule.lastPeriod, rule.lastAsked == asked, period.start <= now, now < period.end {
      return (rule.id, period)
    }
    let window = Window.governing(asked, among: rule.periods.map(\.window), now: now)
    let period = try period(window, of: rule, transaction)
    rule.lastAsked = asked
    rule.lastPeriod = period
    return (rule.id, period)
  }

  /// The period of exactly these bounds.
  func exactly(
    _ name: String, _ window: Window, _ transaction: SQLiteTransaction
  ) throws -> (rule: Int64, period: Period) {
    let rule = try rule(name, transaction)
    return (rule.id, try period(window, of: rule, transaction))
  }

  /// nil when it was swept.
  func period(_ id: Int64, _ transaction: SQLiteTransaction) throws -> Period? {
    if let known = periods[id] { return known }
    let kept = try transaction.first("select name, starts, ends from periods where id = $1", [.integer(id)]) {
      Period(id: id, name: $0.string(0), start: $0.int64(1), end: $0.int64(2))
    }
    periods[id] = kept
    return kept
  }

  private func rule(_ name: String, _ transaction: SQLiteTransaction) throws -> Rule {
    if let known = rules[name] { return known }
    let kept = try transaction.first("select id from rules where name = $1", [.text(name)]) { $0.int64(0) }
    let id = try kept ?? transaction.insert("insert into rules (name) values ($1)", [.text(name)])
    let periods = try transaction.rows(
      "select id, name, starts, ends from periods where rule = $1 order by id", [.integer(id)]
    ) {
      Period(id: $0.int64(0), name: $0.string(1), start: $0.int64(2), end: $0.int64(3))
    }
    let rule = Rule(id: id, periods: periods)
    rules[name] = rule
    return rule
  }

  private func period(_ window: Window, of rule: Rule, _ transaction: SQLiteTransaction) throws -> Period {
    if let known = rule.periods.first(where: { $0.start == window.start && $0.end == window.end }) {
      return known
    }
    let id = try transaction.insert(
      "insert into periods (rule, name, starts, ends) values ($1, $2, $3, $4)",
      [.integer(rule.id), .text(window.id), .integer(window.start), .integer(window.end)])
    let period = Period(id: id, name: window.id, start: window.start, end: window.end)
    rule.periods.append(period)
    periods[id] = period
    return period
  }
}
