import Gateway

/// The rows that a request's charges name, while they are judged. Nothing reaches the book before all of them
/// passed, so a refusal counts nothing.
struct ChargeSheet {
  private let charges: [Charge]
  private let bearer: Bearer
  /// In the order of the charges; nil where the request has no such subject.
  private var lines: [LedgerLine?]
  private var alarms: [LimitAlarm] = []

  init(_ request: AdmissionRequest, _ bearer: Bearer, in book: some AdmissionBook) throws {
    try self.init(request.charges, now: request.now, bearer, in: book)
  }

  init(_ charges: [Charge], now: Int64, _ bearer: Bearer, in book: some AdmissionBook) throws {
    self.charges = charges
    self.bearer = bearer
    lines = []
    lines.reserveCapacity(charges.count)
    for charge in charges {
      guard let subject = bearer.subject(of: charge) else {
        lines.append(nil)
        continue
      }
      let window =
        if case .window(let window, _, _) = charge.limit { Optional(window) } else { nil as Window? }
      var line = try book.line(subject, rule: charge.row, window: window, now: now)
      if case .burst(let interval, let burst) = charge.limit {
        line.used = Burst.guarded(arrival: line.used, interval: interval, burst: burst, now: now)
        book.keep(line)
      }
      lines.append(line)
    }
  }

  /// Checks running requests, then bursts, then counts, then money; the first step in which something is used up
  /// refuses, with what takes longest.
  mutating func judge(now: Int64, in book: some AdmissionBook) throws -> AdmissionRefusal? {
    for step in Step.allCases {
      var refusal: AdmissionRefusal?
      for (index, charge) in charges.enumerated() where Step(charge.limit) == step {
        guard let line = lines[index], let found = apply(charge, to: line, now: now) else { continue }
        if refusal.map({ $0.until < found.until }) ?? true { refusal = found }
        try alarm(charge, line, now: now, in: book)
      }
      if let refusal { return refusal }
    }
    return nil
  }

  /// A refusal counts nothing, but whoever watches over the limit is told.
  private func alarm(
    _ charge: Charge, _ line: LedgerLine, now: Int64, in book: some AdmissionBook
  ) throws {
    guard charge.alarms, case .window(_, let limit, let unit) = charge.limit,
      let subject = bearer.subject(of: charge)
    else { return }
    // As it is kept: this request's own charges are not part of it.
    var kept = book.line(at: line.slot)
    guard let share = kept.newShare(of: limit, refuses: true) else { return }
    book.keep(kept)
    try book.keep(
      kept.alarm(share, rule: charge.rule, unit: unit, subject: subject, limit: limit, time: now))
  }

  /// What is left of each counted window, in the order of the charges.
  func remaining(money: Bool = false) -> [Remaining] {
    var all: [Remaining] = []
    for (index, charge) in charges.enumerated() {
      guard case .window(_, let limit, let unit) = charge.limit, money || unit != .money,
        let line = lines[index]
      else {
        continue
      }
      all.append(Self.remaining(of: line, charge.rule, limit, unit))
    }
    return all
  }

  /// What a reservation has to remember; bursts are never given back.
  var reserved: [ReservedLine] {
    var all: [ReservedLine] = []
    all.reserveCapacity(charges.count)
    for (index, charge) in charges.enumerated() {
      guard let line = lines[index], let kind = ReservedLine.Kind(charge.limit) else { continue }
      var alarmLimit: Int64?
      if charge.alarms, kind != .count, case .window(_, let limit, _) = charge.limit { alarmLimit = limit }
      all.append(
        ReservedLine(slot: line.slot, kind: kind, amount: charge.amount, alarmLimit: alarmLimit))
    }
    return all
  }

  func write(to book: some AdmissionBook) throws {
    for case let line? in lines { book.keep(line) }
    for alarm in alarms { try book.keep(alarm) }
  }

  private enum Step: CaseIterable {
    case inFlight, burst, count, money

    init(_ limit: Charge.Limit) {
      self =
        switch limit {
        case .inFlight: .inFlight
        case .burst: .burst
        case .window(_, _, let unit): unit == .money ? .money : .count
        }
    }
  }

  private mutating func apply(_ charge: Charge, to line: LedgerLine, now: Int64) -> AdmissionRefusal? {
    var line = line
    // A negative amount would be an allowance.
    let amount = max(charge.amount, 0)
    switch charge.limit {
    case .inFlight(let limit):
      line.held = line.held.saturatingAdd(amount)
      if line.held > limit { return .inFlight(rule: charge.rule) }
    case .burst(let interval, let burst):
      let verdict = Burst.judge(
        arrival: line.used, amount: amount, interval: interval, burst: burst, now: now)
      switch verdict {
      case .conforms(let arrival): line.used = arrival
      case .tooFast(let retryAt): return .burst(rule: charge.rule, retryAt: retryAt)
      }
    case .window(_, let limit, let unit):
      let before = line
      if unit.isHeld {
        line.held = line.held.saturatingAdd(amount)
      } else {
        line.used = line.used.saturatingAdd(amount)
      }
      if line.used.saturatingAdd(line.held) > limit {
        return .exhausted(Self.remaining(of: before, charge.rule, limit, unit))
      }
      // What is held may never be used: of that, settling tells.
      if charge.alarms, !unit.isHeld, let subject = bearer.subject(of: charge),
        let share = line.newShare(of: limit)
      {
        alarms.append(
          line.alarm(share, rule: charge.rule, unit: unit, subject: subject, limit: limit, time: now))
      }
    }
    // Two charges may name one row: the second sees what the first took.
    for index in lines.indices where lines[index]?.slot == line.slot { lines[index] = line }
    return nil
  }

  private static func remaining(of line: LedgerLine, _ rule: String, _ limit: Int64, _ unit: QuotaUnit)
    -> Remaining
  {
    Remaining(
      rule: rule, limit: limit,
      remaining: max(limit.saturatingSubtract(line.used.saturatingAdd(line.held)), 0), resetsAt: line.end,
      windowStart: line.start, unit: unit)
  }
}

extension ReservedLine.Kind {
  init?(_ limit: Charge.Limit) {
    switch limit {
    case .inFlight: self = .inFlight
    case .burst: return nil
    case .window(_, _, .requests): self = .count
    case .window(_, _, .tokens): self = .tokens
    case .window(_, _, .images): self = .images
    case .window(_, _, .money): self = .money
    }
  }
}

extension AdmissionRefusal {
  /// When it is over, as far as that is known; milliseconds since 1970.
  fileprivate var until: Int64 {
    switch self {
    case .burst(_, let retryAt): retryAt
    case .exhausted(let remaining): remaining.resetsAt
    default: 0
    }
  }
}
