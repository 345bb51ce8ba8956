import Admission
import Gateway
import SQL

/// The numbers that rules, subjects and periods have in rows, for a node among others. What is remembered from one
/// batch to the next was committed, and is forgotten when the generation changes.
final class SharedNames {
  /// Why it is not known which line one is.
  enum Unknown: Error {
    /// The rule or the subject has no number here.
    case name
    /// Making a period takes the ledger's lock alone.
    case period(Window, rule: String)
  }

  typealias Period = LedgerNames.Period

  private struct Rule {
    var id: Int64
    var periods: [Period]
  }

  private var generation: String?
  /// Whether this node has made a period, whose end is not known here.
  private var isInDoubt = false
  private var rules: [String: Rule] = [:]
  private var subjects: [LineSubject: Int64] = [:]
  private var periods: [Int64: Period] = [:]
  /// By number, those that never have another name.
  private var lasting: [Int64: LineSubject] = [:]
  /// Lines that are there, and go only with a new generation.
  private(set) var stored: Set<LineRows.Key> = []
  /// Made in a transaction whose end is not known here.
  private var unconfirmedRules: [String] = []
  private var unconfirmedSubjects: [LineSubject] = []

  private static let capacity = 400_000

  /// Whether what is remembered holds.
  @discardableResult func enter(_ generation: String?, _ transaction: Transaction) -> Bool {
    guard isInDoubt || generation != self.generation || subjects.count + stored.count > Self.capacity else {
      return true
    }
    self.generation = generation
    isInDoubt = false
    rules = [:]
    periods = [:]
    transaction.discard(&subjects, leaving: [:])
    transaction.discard(&lasting, leaving: [:])
    transaction.discard(&stored, leaving: [])
    return false
  }

  func forgetUnconfirmed() {
    for name in unconfirmedRules { rules[name] = nil }
    for subject in unconfirmedSubjects {
      if let id = subjects.removeValue(forKey: subject) { lasting[id] = nil }
    }
    unconfirmedRules = []
    unconfirmedSubjects = []
  }

  func markStored(_ keys: some Sequence<LineRows.Key>) { stored.formUnion(keys) }

  func subject(_ subject: LineSubject) -> Int64? {
    if case .device(let id) = subject { return id }
    return subjects[subject].map { -$0 }
  }

  func rule(_ name: String) -> Int64? { rules[name]?.id }

  /// nil for one that was not asked for by name. There are few: a configuration's limits.
  func name(ofRule id: Int64) -> String? { rules.first { $0.value.id == id }?.key }

  func period(_ id: Int64) -> Period? { periods[id] }

  /// Whose line it is; nil also for a user or a person, whose name the numbers outlive (`KeyUserRows`).
  func subject(of key: LineRows.Key) -> LineSubject? {
    key.subject < 0 ? lasting[-key.subject] : .device(key.subject)
  }

  /// The line's numbers, and its period's bounds.
  func find(
    _ line: NamedLine
  ) throws(Unknown) -> (key: LineRows.Key, bounds: (start: Int64, end: Int64)) {
    guard let rule = rules[line.rule], let subject = subject(line.subject) else { throw .name }
    guard var window = line.window else {
      return (LineRows.Key(subject: subject, rule: rule.id, period: 0), (0, 0))
    }
    if let now = line.time {
      window = Window.governing(window, among: rule.periods.map(\.window), now: now)
    }
    let known = rule.periods.first { $0.start == window.start && $0.end == window.end }
    guard let period = known else { throw .period(window, rule: line.rule) }
    return (
      LineRows.Key(subject: subject, rule: rule.id, period: period.id), (period.start, period.end)
    )
  }

  /// Makes a period of a rule that has a number. Under the exclusive lock.
  func make(_ window: Window, of name: String, _ transaction: Transaction) async throws {
    guard let rule = rules[name] else { throw DatabaseError.conflict }
    // If this is rolled back, the generation is what it was, and so this must go.
    isInDoubt = true
    // With the generation raised, everyone reads all of it anew, this node included.
    try LedgerLock.raiseGeneration(transaction)
    let id = try await transaction.insert(
      "insert into periods (rule, name, starts, ends) values ($1, $2, $3, $4)",
      [.integer(rule.id), .text(window.id), .integer(window.start), .integer(window.end)])
    let period = Period(id: id, name: window.id, start: window.start, end: window.end)
    rules[name]?.periods.append(period)
    periods[id] = period
  }

  /// Whether the numbers of all these are known.
  func knows(rules names: Set<String>, subjects: Set<LineSubject>, periods ids: Set<Int64>) -> Bool {
    names.allSatisfy { rules[$0] != nil } && subjects.allSatisfy { subject($0) != nil }
      && ids.allSatisfy { periods[$0] != nil }
  }

  /// Learns the numbers of these, and gives numbers to those that have none.
  func resolve(
    rules names: Set<String>, subjects wanted: Set<LineSubject>, periods ids: Set<Int64>,
    _ transaction: Transaction
  ) async throws {
    let missing = (names.filter { rules[$0] == nil }, wanted.filter { subject($0) == nil })
    let missingIDs = ids.filter { periods[$0] == nil }
    guard !missing.0.isEmpty || !missing.1.isEmpty || !missingIDs.isEmpty else { return }
    try await look(missing.0.sorted(), Self.sorted(missing.1), missingIDs.sorted(), transaction)
    let newRules = missing.0.filter { rules[$0] == nil }.sorted()
    let newSubjects = Self.sorted(missing.1.filter { subject($0) == nil })
    guard !newRules.isEmpty || !newSubjects.isEmpty else { return }
    // Sorted: two nodes that make the same names wait for each other in one order.
    if !newRules.isEmpty {
      try transaction.enqueue(
        "insert into rules (name) select unnest($1::text[]) on conflict (name) do nothing", [.texts(newRules)]
      )
    }
    if !newSubjects.isEmpty {
      try transaction.enqueue(
        """
        insert into subjects (kind, name) select s.kind, s.name from unnest($1::bigint[], $2::text[]) s (kind, name)
        on conflict (kind, name) do nothing
        """, [.integers(newSubjects.map(\.kind)), .texts(newSubjects.map(\.name))])
    }
    unconfirmedRules += newRules
    unconfirmedSubjects += newSubjects.map(\.subject)
    try await look(newRules, newSubjects, [], transaction)
  }

  private typealias Named = (subject: LineSubject, kind: Int64, name: String)

  private static func sorted(_ subjects: Set<LineSubject>) -> [Named] {
    subjects.compactMap { subject -> Named? in
      guard case .named(let kind, let name) = subject else { return nil }
      return (subject, kind.rawValue, name)
    }.sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
  }

  private func look(
    _ names: [String], _ wanted: [Named], _ ids: [Int64], _ transaction: Transaction
  ) async throws {
    try await transaction.together([
      Query("select id, name from rules where name = any($1)", [.texts(names)]),
      Query(
        """
        select p.id, p.name, p.starts, p.ends, r.name from periods p join rules r on r.id = p.rule
        where r.name = any($1) or p.id = any($2) order by p.id
        """, [.texts(names), .integers(ids)]),
      Query(
        """
        select s.id, s.kind, s.name from subjects s
        join unnest($1::bigint[], $2::text[]) w (kind, name) on s.kind = w.kind and s.name = w.name
        """, [.integers(wanted.map(\.kind)), .texts(wanted.map(\.name))]),
    ]) { index, row in
      switch index {
      case 0: rules[row.string(1)] = Rule(id: row.int64(0), periods: [])
      case 1:
        let period = Period(id: row.int64(0), name: row.string(1), start: row.int64(2), end: row.int64(3))
        periods[period.id] = period
        if names.contains(row.string(4)) { rules[row.string(4)]?.periods.append(period) }
      default:
        guard let kind = LineSubject.Kind(rawValue: row.int64(1)) else { return }
        let subject = LineSubject.named(kind, row.string(2))
        subjects[subject] = row.int64(0)
        if kind != .user, kind != .person { lasting[row.int64(0)] = subject }
      }
    }
  }
}
