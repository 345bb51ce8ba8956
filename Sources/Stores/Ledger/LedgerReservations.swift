import Admission
import SQL

/// Reservations, session tokens and usage rows, written as they come.
extension LedgerBook {
  func keep(_ reservation: Reservation) throws {
    let reserved = reservation.lines.map {
      ReservedLines.Line(
        key: lines.key(at: $0.slot), kind: $0.kind, amount: $0.amount, alarmLimit: $0.alarmLimit)
    }
    let insert = try statements.insertReservation
    try insert.bind(1, reservation.id)
    try insert.bind(2, reservation.lease)
    if let device = reservation.device { try insert.bind(3, device) } else { try insert.bindNull(3) }
    try insert.bind(4, ReservedLines.encode(reserved))
    if let ending = reservation.ending { try insert.bind(5, ending.octets) } else { try insert.bindNull(5) }
    try insert.run()
    reservations[reservation.id] = reservation
  }

  /// Deletes the reservation and returns what it was; nil when there is none.
  func takeReservation(_ id: [UInt8]) throws -> Reservation? {
    if let known = reservations.removeValue(forKey: id) {
      let delete = try statements.deleteReservation
      try delete.bind(1, id)
      try delete.run()
      return try transaction.changes > 0 ? known : nil
    }
    let take = try statements.takeReservation
    try take.bind(1, id)
    guard try take.step() else {
      take.reset()
      return nil
    }
    let device = take.isNull(0) ? nil : take.int64(0)
    let blob = take.bytes(1)
    let lease = take.int64(2)
    try take.run()
    return Reservation(id: id, device: device, lease: lease, lines: try reserved(blob))
  }

  func takeExpiredReservations(now: Int64, limit: Int) throws -> [Reservation] {
    // How it ends may have been noted since it was kept here.
    let due = try transaction.rows(
      "select id, ending from reservations where lease < $1 limit $2",
      [.integer(now), .integer(Int64(limit))]
    ) { (id: $0.bytes(0), ending: $0.optionalBytes(1)) }
    return try due.compactMap { row in
      guard var reservation = try takeReservation(row.id) else { return nil }
      reservation.ending = row.ending.flatMap { ReservationEnding($0, id: row.id, now: now) }
      return reservation
    }
  }

  /// The one node's own clock.
  func leaseTime(now: Int64) -> Int64 { now }

  /// False when there is no such reservation. A lease is never shortened.
  func renew(_ id: [UInt8], until: Int64) throws -> Bool {
    let renew = try statements.renew
    try renew.bind(1, id)
    try renew.bind(2, until)
    try renew.run()
    return try transaction.first("select 1 from reservations where id = $1", [.blob(id)]) { _ in true }
      ?? false
  }

  /// Keeps the token, and ends the key's oldest beyond `atMost` and those that expired.
  func add(_ token: SessionToken, of keyID: [UInt8], userID: String?, atMost: Int, now: Int64) throws {
    guard let device = try device(keyID) else { return }
    let transaction = try transaction
    for query in SessionRows.add(token, device: device.id, userID: userID, atMost: atMost, now: now) {
      try transaction.execute(query)
    }
  }

  private func reserved(_ blob: [UInt8]) throws -> [ReservedLine] {
    guard let decoded = ReservedLines.decode(blob) else {
      throw DatabaseError.corrupt("reservations.lines")
    }
    return try decoded.map { line in
      var bounds: (start: Int64, end: Int64)? = (0, 0)
      if line.key.period != 0 {
        bounds = try names.period(line.key.period, transaction).map { ($0.start, $0.end) }
      }
      let loaded = try lines.line(line.key, bounds: bounds, statements)
      return ReservedLine(
        slot: loaded.slot, kind: line.kind, amount: line.amount, alarmLimit: line.alarmLimit)
    }
  }
}
