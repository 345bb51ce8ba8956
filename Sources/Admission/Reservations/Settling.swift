/// Ends a reservation's lines.
package enum Settling {
  /// How often a day a key gets a count back (RULES §5.4).
  package static let giveBackLimit: Int64 = 5
  /// The rule under which the ledger counts what it gave back; no configured rule has a colon.
  package static let giveBackRule = ":given-back"

  /// Changes the rows that the reservation names, and only those. Pure but for the book.
  package static func settle(
    _ reservation: Reservation, as outcome: Settlement.Outcome, in book: some AdmissionBook
  ) throws {
    var givesBack = false
    if case .released(giveBackCount: true) = outcome { givesBack = try mayGiveBack(reservation, in: book) }
    for reserved in reservation.lines {
      var line = book.line(at: reserved.slot)
      switch reserved.kind {
      case .inFlight:
        line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
      case .money:
        line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
        if case .used(let cost) = outcome { line.used = line.used.saturatingAdd(max(cost, 0)) }
      case .count:
        guard givesBack else { continue }
        line.used = max(line.used.saturatingSubtract(reserved.amount), 0)
      }
      book.keep(line)
    }
  }

  /// Settles at the full hold: what became of the request is unknown (RULES §5.2). Returns the money that is
  /// booked, of the line that held most.
  @discardableResult package static func expire(
    _ reservation: Reservation, in book: some AdmissionBook
  ) throws -> Int64 {
    var most: Int64 = 0
    for reserved in reservation.lines where reserved.kind != .count {
      var line = book.line(at: reserved.slot)
      line.held = max(line.held.saturatingSubtract(reserved.amount), 0)
      if reserved.kind == .money {
        line.used = line.used.saturatingAdd(reserved.amount)
        most = max(most, reserved.amount)
      }
      book.keep(line)
    }
    return most
  }

  /// Counts what is given back in the shortest period that the reservation counted in: the day. A request
  /// without a key gets nothing back, because nothing would bound it.
  private static func mayGiveBack(_ reservation: Reservation, in book: some AdmissionBook) throws -> Bool {
    guard let device = reservation.device else { return false }
    // One whose period was forgotten has no bounds any more, and nothing to give back to.
    let counts = reservation.lines.filter { $0.kind == .count }.map { book.line(at: $0.slot) }
      .filter { $0.end > $0.start }
    guard let day = counts.min(by: { $0.end - $0.start < $1.end - $1.start }) else { return false }
    var given = try book.line(.device(device), rule: giveBackRule, besides: day.slot)
    guard given.used < giveBackLimit else { return false }
    given.used += 1
    book.keep(given)
    return true
  }
}
