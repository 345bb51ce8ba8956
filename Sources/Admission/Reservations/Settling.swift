/// Ends a reservation's lines.
package enum Settling {
  /// How often a day a key gets a count back (RULES §5.4).
  package static let giveBackLimit: Int64 = 5
  /// The rule under which the ledger counts what it gave back; no configured rule has a colon.
  package static let giveBackRule = ":given-back"

  /// Changes the rows that the reservation names, and only those. Pure but for the book.
  ///
  /// - Parameters:
  ///   - spared: limits that do not concern the call after all.
  ///   - now: milliseconds since 1970.
  package static func settle(
    _ reservation: Reservation, as outcome: Settlement.Outcome, sparing spared: Set<String> = [], now: Int64,
    in book: some AdmissionBook
  ) throws {
    var givesBack = false
    if case .released(giveBackCount: true) = outcome { givesBack = try mayGiveBack(reservation, in: book) }
    for reserved in reservation.lines {
      var line = book.line(at: reserved.slot)
      let isSpared = try Self.isSpared(reserved, spared, in: book)
      switch reserved.kind {
      case .inFlight:
        line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
      case .money where isSpared, .tokens where isSpared, .images where isSpared:
        line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
      case .money, .tokens, .images:
        line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
        line.used = line.used.saturatingAdd(max(actual(reserved.kind, outcome), 0))
        try alarm(reserved, &line, now: now, in: book)
      case .count:
        guard isSpared || (givesBack && Self.isGivenBack(line)) else { continue }
        line.used = max(line.used.saturatingSubtract(reserved.amount), 0)
      }
      book.keep(line)
    }
  }

  /// Whether the line is of one of those limits: a row's name is the limit's, and after a colon its unit.
  private static func isSpared(
    _ reserved: ReservedLine, _ spared: Set<String>, in book: some AdmissionBook
  ) throws -> Bool {
    guard !spared.isEmpty, reserved.kind != .inFlight else { return false }
    return spared.contains(String(try book.rule(ofLineAt: reserved.slot).prefix { $0 != ":" }))
  }

  private static func alarm(
    _ reserved: ReservedLine, _ line: inout LedgerLine, now: Int64, in book: some AdmissionBook
  ) throws {
    // A row whose period was forgotten has no bounds any more.
    guard let limit = reserved.alarmLimit, let unit = reserved.kind.unit, line.end > line.start else {
      return
    }
    guard let share = line.newShare(of: limit) else { return }
    let (subject, row) = try book.owner(ofLineAt: reserved.slot)
    let rule = String(row.prefix { $0 != ":" })
    try book.keep(line.alarm(share, rule: rule, unit: unit, subject: subject, limit: limit, time: now))
  }

  private static func actual(_ kind: ReservedLine.Kind, _ outcome: Settlement.Outcome) -> Int64 {
    guard case .used(let cost, let tokens, let images) = outcome else { return 0 }
    return switch kind {
    case .money: cost
    case .tokens: tokens
    case .images: images
    case .inFlight, .count: 0
    }
  }

  /// Settles at the full hold: what became of the request is unknown (RULES §5.2). Returns the money that is
  /// booked, of the line that held most.
  @discardableResult package static func expire(
    _ reservation: Reservation, now: Int64, in book: some AdmissionBook
  ) throws -> Int64 {
    var most: Int64 = 0
    for reserved in reservation.lines where reserved.kind != .count {
      var line = book.line(at: reserved.slot)
      line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
      if reserved.kind != .inFlight { line.used = line.used.saturatingAdd(reserved.amount) }
      try alarm(reserved, &line, now: now, in: book)
      if reserved.kind == .money { most = max(most, reserved.amount) }
      book.keep(line)
    }
    return most
  }

  /// The longest period, in milliseconds, whose count bounds a rate and not an allowance: an hour's, or what a change
  /// of the clock makes of it.
  package static let longestRate: Int64 = 2 * 3_600_000

  /// Whether a count of that period is ever given back. An hour's and a minute's bound the rate, as bursts do.
  package static func isGivenBack(start: Int64, end: Int64) -> Bool {
    // A day can have 23 hours, and begin late after a change of zone.
    let (length, overflow) = end.subtractingReportingOverflow(start)
    return overflow || length > longestRate
  }

  private static func isGivenBack(_ line: LedgerLine) -> Bool {
    line.end > line.start && isGivenBack(start: line.start, end: line.end)
  }

  /// Counts what is given back in the shortest period that the reservation counted in and that is given back: the
  /// day. A request without a key gets nothing back, because nothing would bound it.
  private static func mayGiveBack(_ reservation: Reservation, in book: some AdmissionBook) throws -> Bool {
    guard let device = reservation.device else { return false }
    // One whose period was forgotten has no bounds any more, and nothing to give back to.
    let counts = reservation.lines.filter { $0.kind == .count }.map { book.line(at: $0.slot) }
      .filter(isGivenBack)
    guard let day = counts.min(by: { $0.end - $0.start < $1.end - $1.start }) else { return false }
    var given = try book.line(.device(device), rule: giveBackRule, besides: day.slot)
    guard given.used < giveBackLimit else { return false }
    given.used += 1
    book.keep(given)
    return true
  }
}
