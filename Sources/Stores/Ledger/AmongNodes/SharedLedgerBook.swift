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
  /// What earlier attempts at the batch lacked, and what this one lacks.
  let needs: BatchNeeds
  var lacking = BatchNeeds()

  var devices: [[UInt8]: DeviceState] = [:]
  var sessions: [[UInt8]: SessionState] = [:]
  var debugTokens: [[UInt8]: DebugTokenState] = [:]
  /// What is known of the users who are needed and there; they are locked before the keys.
  var users: [String: LedgerUsers.Standing] = [:]
  /// Those who are there and whom another transaction holds, and whether the batch comes again for them.
  var heldUsers: Set<String> = []
  let waitsForUsers: Bool
  /// Sessions of accounts that are there, by their ids: those that are locked, and those that another holds.
  var openSessions: Set<[UInt8]> = []
  var heldSessions: Set<[UInt8]> = []
  var challenges = KnownChallenges()
  /// Loaded where a request names a model.
  var closedModels: Set<ProviderModel> = []
  /// The server's clock when the batch was loaded, milliseconds since 1970.
  var serverTime: Int64?
  /// Locked ones.
  var reservations: [[UInt8]: KeptReservation] = [:]
  /// In the order in which a sweep takes them.
  var expired: [[UInt8]] = []
  /// Whose the lines are of which that is needed.
  var owners = LineOwners()
  /// Reservations that the batch makes and ends.
  private(set) var made: [[UInt8]: SeenRows.Reserved] = [:]
  private(set) var taken: [[UInt8]] = []
  private var changedDevices: [[UInt8]] = []
  private var alarms: [LimitAlarm] = []

  init(
    _ transaction: Transaction, _ names: SharedNames, _ clock: LeaseClock, _ needs: BatchNeeds,
    waitsForUsers: Bool
  ) {
    self.transaction = transaction
    self.names = names
    self.clock = clock
    self.needs = needs
    self.waitsForUsers = waitsForUsers
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
    guard challenges.consume(challenge, keyID: keyID) else { return false }
    switch challenge {
    case .row(let random, let expiry):
      // Whoever consumed it without the lock has the commit fail.
      try transaction.enqueue(
        Challenges.insertion(random: random, expiry: expiry, keyID: keyID, unlessThere: false))
    case .mint(let count): try transaction.enqueue(Challenges.mint(count, keyID: keyID))
    }
    return true
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
    try transaction.enqueue(ClosedModelRows.insert(closure))
    closedModels.insert(closure.model)
  }

  // MARK: Lines

  func line(_ subject: LineSubject, rule: String, window: Window?, now: Int64) throws -> LedgerLine {
    line(NamedLine(subject: subject, rule: rule, window: window, time: now))
  }

  func line(at slot: Int) -> LedgerLine { lines.line(at: slot) }

  func line(_ subject: LineSubject, rule: String, besides slot: Int) throws -> LedgerLine {
    let line = lines.line(at: slot)
    let name = names.period(lines.key(at: slot).period)?.name ?? ""
    let window = Window(id: name, start: line.start, end: line.end)
    return self.line(NamedLine(subject: subject, rule: rule, window: window))
  }

  func keep(_ line: LedgerLine) { lines.keep(line) }

  func owner(ofLineAt slot: Int) throws -> (subject: LineSubject, rule: String) {
    let key = lines.key(at: slot)
    let subject = names.subject(of: key) ?? owners.subjects[key.subject]
    if subject == nil, !needs.owners.contains(key) { lacking.owners.insert(key) }
    // One that is forgotten is nobody's.
    return (subject ?? .named(.everyone, ""), try rule(ofLineAt: slot))
  }

  func rule(ofLineAt slot: Int) throws -> String {
    let key = lines.key(at: slot)
    let rule = names.name(ofRule: key.rule) ?? owners.rules[key.rule]
    if rule == nil, !needs.owners.contains(key) { lacking.owners.insert(key) }
    return rule ?? ""
  }

  // MARK: Alarms

  func keep(_ alarm: LimitAlarm) throws {
    try transaction.enqueue(AlarmRows.insertion(alarm, transaction.dialect))
    alarms.append(alarm)
  }

  func takeAlarms() -> [LimitAlarm] {
    defer { alarms = [] }
    return alarms
  }

  /// Loading foresees nearly every line. One that it did not is not to be locked out of turn.
  private func line(_ named: NamedLine) -> LedgerLine {
    do throws(SharedNames.Unknown) {
      if let line = lines.line(try names.find(named).key) { return line }
    } catch {
      if case .period = error { lacking.isAlone = true }
    }
    lacking.lines.insert(named)
    return lines.standIn((named.window?.start ?? 0, named.window?.end ?? 0))
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
      try transaction.enqueue(query)
    }
  }

  func add(_ usage: UsageRecord, device: Int64?) throws {
    try transaction.enqueue(UsageRows.insert, UsageRows.values(usage, device: device))
  }
}
