import Admission
import AppAttest
import Gateway
import SQL

/// The rows of one batch on PostgreSQL: locked and loaded before it is decided, written after.
final class SharedLedgerBook: LedgerRows {
  struct KeptReservation {
    var device: Int64?
    var lease: Int64
    var lines: [ReservedLines.Line]
    /// Known where it is to be swept.
    var ending: ReservationEnding?
  }

  let transaction: Transaction
  let names: SharedNames
  let lines = SharedLines()
  let clock: LeaseClock
  /// Whether this transaction holds the ledger's lock alone.
  let isAlone: Bool

  var devices: [[UInt8]: DeviceState] = [:]
  var sessions: [[UInt8]: SessionState] = [:]
  var debugTokens: [[UInt8]: DebugTokenState] = [:]
  /// Users that are locked before the keys, and what is known of those that are there.
  let lockedUsers: Set<String>
  var users: [String: LedgerUsers.Standing] = [:]
  /// Those who are there and whom another transaction holds, and whether the batch comes again for them.
  var heldUsers: Set<String> = []
  let waitsForUsers: Bool
  /// Sessions of accounts that are there, by their ids: those that are locked, and those that another holds.
  var openSessions: Set<[UInt8]> = []
  var heldSessions: Set<[UInt8]> = []
  /// Loaded where a request names a model.
  var closedModels: Set<ProviderModel> = []
  /// The server's clock when the batch was loaded, milliseconds since 1970.
  var serverTime: Int64?
  /// Locked ones.
  var reservations: [[UInt8]: KeptReservation] = [:]
  /// In the order in which a sweep takes them.
  var expired: [[UInt8]] = []
  /// Reservations that the batch makes and ends.
  private(set) var made: [[UInt8]: SeenRows.Reserved] = [:]
  private(set) var taken: [[UInt8]] = []
  private var changedDevices: [[UInt8]] = []
  private var alarms: [LimitAlarm] = []

  init(
    _ transaction: Transaction, _ names: SharedNames, _ clock: LeaseClock, isAlone: Bool,
    lockedUsers: Set<String> = [], waitsForUsers: Bool = false
  ) {
    self.waitsForUsers = waitsForUsers
    self.lockedUsers = lockedUsers
    self.transaction = transaction
    self.names = names
    self.clock = clock
    self.isAlone = isAlone
  }

  /// What is to be written goes out with the commit.
  func flush() throws {
    let states = Set(changedDevices).compactMap { devices[$0] }
    if !states.isEmpty {
      try transaction.enqueue(
        """
        update device_states s
        set highest = w.highest, near = w.near, far = w.far, user_id = nullif(w.user_id, ''),
          user_banned_until =
            case when s.user_id is not distinct from nullif(w.user_id, '') then s.user_banned_until end,
          used_on = w.used_on, person = nullif(w.person, '')
        from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[])
          w (device, highest, near, far, user_id, used_on, person)
        where s.device = w.device
        """,
        [
          .integers(states.map(\.id)), .integers(states.map { Int64($0.counters.highest) }),
          .integers(states.map { Int64(bitPattern: $0.counters.near) }),
          .integers(states.map { Int64(bitPattern: $0.counters.far) }),
          .texts(states.map { $0.userID ?? "" }), .integers(states.map(\.usedOn)),
          .texts(states.map { $0.person ?? "" }),
        ])
    }
    try lines.flush(transaction)
  }

  // MARK: Evidence

  func device(_ keyID: [UInt8]) throws -> DeviceState? { devices[keyID] }

  func keep(_ device: DeviceState) throws {
    devices[device.keyID] = device
    changedDevices.append(device.keyID)
  }

  func consume(_ challenge: ConsumedChallenge, keyID: [UInt8]) throws -> Bool {
    try Challenges.consume(challenge, keyID: keyID, transaction)
  }

  func session(_ tokenHash: [UInt8]) throws -> SessionState? { sessions[tokenHash] }

  func debugToken(_ tokenHash: [UInt8]) throws -> DebugTokenState? { debugTokens[tokenHash] }

  func noteUse(debugToken name: String, at time: Int64) throws {
    try transaction.enqueue(
      "update debug_tokens set last_use = $2 where name = $1", [.text(name), .integer(time)])
  }

  // MARK: Models

  func isClosed(_ model: ProviderModel) throws -> Bool { closedModels.contains(model) }

  func keep(_ closure: ModelClosure) throws {
    let insert = ClosedModelRows.insert(closure)
    try transaction.enqueue(insert.sql, insert.values)
    closedModels.insert(closure.model)
  }

  // MARK: Lines

  func line(_ subject: LineSubject, rule: String, window: Window?, now: Int64) throws -> LedgerLine {
    let (key, bounds) = try key(subject, rule, window, now: now)
    return try line(key, bounds)
  }

  func line(at slot: Int) -> LedgerLine { lines.line(at: slot) }

  func line(_ subject: LineSubject, rule: String, besides slot: Int) throws -> LedgerLine {
    let line = lines.line(at: slot)
    let name = names.period(lines.key(at: slot).period)?.name ?? ""
    let window = Window(id: name, start: line.start, end: line.end)
    let period = try names.exactly(rule, window, isAlone: isAlone, transaction)
    guard let subject = names.subject(subject), let rule = names.rule(rule) else {
      throw DatabaseError.conflict
    }
    return try self.line(
      LineRows.Key(subject: subject, rule: rule, period: period.id), (period.start, period.end))
  }

  func keep(_ line: LedgerLine) { lines.keep(line) }

  func owner(ofLineAt slot: Int) throws -> (subject: LineSubject, rule: String) {
    try LineOwner.find(lines.key(at: slot), transaction)
  }

  /// As a rule without a question: each would be a round trip.
  func rule(ofLineAt slot: Int) throws -> String {
    let key = lines.key(at: slot)
    return try names.name(ofRule: key.rule) ?? LineOwner.find(key, transaction).rule
  }

  // MARK: Alarms

  func keep(_ alarm: LimitAlarm) throws {
    try AlarmRows.insert(alarm, transaction)
    alarms.append(alarm)
  }

  func takeAlarms() -> [LimitAlarm] {
    defer { alarms = [] }
    return alarms
  }

  /// The key of a charge's line, and its period's bounds.
  func key(
    _ subject: LineSubject, _ rule: String, _ window: Window?, now: Int64
  ) throws -> (key: LineRows.Key, bounds: (start: Int64, end: Int64)) {
    var period: SharedNames.Period?
    if let window { period = try names.governing(rule, window, now: now, isAlone: isAlone, transaction) }
    guard let subject = names.subject(subject), let rule = names.rule(rule) else {
      throw DatabaseError.conflict
    }
    return (
      LineRows.Key(subject: subject, rule: rule, period: period?.id ?? 0),
      (period?.start ?? 0, period?.end ?? 0)
    )
  }

  private func line(_ key: LineRows.Key, _ bounds: (start: Int64, end: Int64)) throws -> LedgerLine {
    if let line = lines.line(key) { return line }
    // Loading foresees every line. One that it did not would be locked out of turn, which a conflict at worst undoes.
    try lines.load([key: bounds], names, transaction)
    guard let line = lines.line(key) else { throw DatabaseError.conflict }
    return line
  }

  // MARK: Reservations

  func leaseTime(now: Int64) -> Int64 { clock == .database ? serverTime ?? now : now }

  func keep(_ reservation: Reservation) throws {
    let kept = reservation.lines.map {
      ReservedLines.Line(
        key: lines.key(at: $0.slot), kind: $0.kind, amount: $0.amount, alarmLimit: $0.alarmLimit)
    }
    try transaction.enqueue(
      "insert into reservations (id, lease, device, lines, ending) values ($1, $2, $3, $4, $5)",
      [
        .blob(reservation.id), .integer(reservation.lease), SQLValue(reservation.device),
        .blob(ReservedLines.encode(kept)), reservation.ending.map { .blob($0.octets) } ?? .null,
      ])
    made[reservation.id] = SeenRows.Reserved(device: reservation.device, lines: kept)
  }

  func takeReservation(_ id: [UInt8]) throws -> Reservation? {
    guard let kept = reservations.removeValue(forKey: id) else { return nil }
    try transaction.enqueue("delete from reservations where id = $1", [.blob(id)])
    taken.append(id)
    let reserved = kept.lines.compactMap { line in
      lines.line(line.key).map {
        ReservedLine(slot: $0.slot, kind: line.kind, amount: line.amount, alarmLimit: line.alarmLimit)
      }
    }
    return Reservation(
      id: id, device: kept.device, lease: kept.lease, lines: reserved, ending: kept.ending)
  }

  func takeExpiredReservations(now: Int64, limit: Int) throws -> [Reservation] {
    let now = leaseTime(now: now)
    let due = expired.filter { (reservations[$0]?.lease ?? .max) < now }
    return try due.prefix(limit).compactMap { try takeReservation($0) }
  }

  func renew(_ id: [UInt8], until: Int64) throws -> Bool {
    guard let kept = reservations[id] else { return false }
    if kept.lease < until {
      reservations[id]?.lease = until
      try transaction.enqueue(
        "update reservations set lease = $2 where id = $1", [.blob(id), .integer(until)])
    }
    return true
  }

  // MARK: Tokens and usage

  func add(_ token: SessionToken, of keyID: [UInt8], userID: String?, atMost: Int, now: Int64) throws {
    guard let device = devices[keyID] else { return }
    for query in SessionRows.add(token, device: device.id, userID: userID, atMost: atMost, now: now) {
      try transaction.enqueue(query.sql, query.values)
    }
  }

  func add(_ usage: UsageRecord, device: Int64?) throws {
    try transaction.enqueue(UsageRows.insert, UsageRows.values(usage, device: device))
  }
}
