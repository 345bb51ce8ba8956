import Admission
import AppAttest
import Gateway
import SQL

/// What is to be locked for a batch, by rows of keys and reservations: as they are, or as they were seen last.
extension SharedLedgerBook {
  struct Foreseen {
    /// The lines, with their periods' bounds.
    var bounds: [LineRows.Key: (start: Int64, end: Int64)] = [:]
    /// Lines of reservations whose period was swept.
    var gone: [LineRows.Key] = []
  }

  /// What the batch names, before numbers are known.
  struct Names {
    var rules: Set<String> = []
    var subjects: Set<LineSubject> = []
    var periods: Set<Int64> = []
  }

  var seen: SeenRows {
    SeenRows(
      devices: devices, sessions: sessions, debugTokens: debugTokens,
      reservations: reservations.mapValues { SeenRows.Reserved(device: $0.device, lines: $0.lines) })
  }

  /// The batch's lines; nil where a number of one is not known here.
  func foresee(_ demand: BatchDemand, _ seen: SeenRows) async -> Foreseen? {
    let needed = await names(of: demand, seen)
    guard names.knows(rules: needed.rules, subjects: needed.subjects, periods: needed.periods) else {
      return nil
    }
    return try? await lines(of: demand, seen)
  }

  /// The batch's lines, whose names have numbers; periods that are missing are made where that may be.
  func foreseeAll(_ demand: BatchDemand, _ seen: SeenRows) async throws -> Foreseen {
    while true {
      do throws(SharedNames.Unknown) {
        return try await lines(of: demand, seen)
      } catch {
        guard case .period(let window, let rule) = error else { throw DatabaseError.conflict }
        guard needs.isAlone else {
          lacking.isAlone = true
          throw Lacking()
        }
        // Other windows may fall into it, so all are looked for again.
        try await names.make(window, of: rule, transaction)
      }
    }
  }

  func names(of demand: BatchDemand, _ seen: SeenRows) async -> Names {
    var needed = Names()
    for request in demand.requests {
      await transaction.breathe()
      let bearers = seen.bearers(of: request, demand)
      for charge in request.possibleCharges {
        for bearer in bearers {
          guard let subject = bearer.subject(of: charge) else { continue }
          needed.rules.insert(charge.row)
          needed.subjects.insert(subject)
        }
      }
    }
    if !demand.givesBack.isEmpty { needed.rules.insert(Settling.giveBackRule) }
    needed.rules.formUnion(needs.lines.map(\.rule))
    needed.subjects.formUnion(needs.lines.map(\.subject))
    needed.periods = Set(seen.reservations.values.flatMap(\.lines).map(\.key.period)).subtracting([0])
    return needed
  }

  private func lines(
    of demand: BatchDemand, _ seen: SeenRows
  ) async throws(SharedNames.Unknown) -> Foreseen {
    var foreseen = Foreseen()
    for line in needs.lines {
      let found = try names.find(line)
      foreseen.bounds[found.key] = found.bounds
    }
    for request in demand.requests {
      await transaction.breathe()
      let bearers = seen.bearers(of: request, demand)
      for charge in request.possibleCharges {
        var window: Window?
        if case .window(let asked, _, _) = charge.limit { window = asked }
        for bearer in bearers {
          guard let subject = bearer.subject(of: charge) else { continue }
          let found = try names.find(
            NamedLine(subject: subject, rule: charge.row, window: window, time: request.now))
          foreseen.bounds[found.key] = found.bounds
        }
      }
    }
    for line in seen.reservations.values.flatMap(\.lines) {
      if line.key.period == 0 {
        foreseen.bounds[line.key] = (0, 0)
      } else if let period = names.period(line.key.period) {
        foreseen.bounds[line.key] = (period.start, period.end)
      } else {
        foreseen.gone.append(line.key)
      }
    }
    for id in demand.givesBack {
      guard let found = try givenBackKey(seen.reservations[id]) else { continue }
      foreseen.bounds[found.key] = found.bounds
    }
    return foreseen
  }

  /// The row that counts what a key got back, as `Settling` will ask for it: beside the shortest period that the
  /// reservation counted in.
  private func givenBackKey(
    _ reserved: SeenRows.Reserved?
  ) throws(SharedNames.Unknown) -> (key: LineRows.Key, bounds: (start: Int64, end: Int64))? {
    guard let reserved, let device = reserved.device else { return nil }
    let counted = reserved.lines.filter { $0.kind == .count }.compactMap { names.period($0.key.period) }
      .filter { Settling.isGivenBack(start: $0.start, end: $0.end) }
    guard let day = counted.min(by: { $0.end - $0.start < $1.end - $1.start }) else { return nil }
    return try names.find(
      NamedLine(subject: .device(device), rule: Settling.giveBackRule, window: day.window))
  }
}
