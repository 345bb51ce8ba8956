import Admission
import AppAttest
import Encodings
import Gateway
import SQL

/// The ledger's rows on the writer's thread. Keys and lines are kept between batches for as long as nobody else
/// writes; every other row is looked up when it is asked for.
final class LedgerBook: LedgerRows {
  /// More rows than this are forgotten before a batch: about 100 MB.
  private static let capacity = 400_000

  private struct Closed: Error {}

  private final class Device {
    var state: DeviceState
    var isChanged = false
    /// Written by itself, for it costs a page of an index.
    var isUserChanged = false

    init(_ state: DeviceState) { self.state = state }
  }

  let names = LedgerNames()
  let lines = LineRows()
  /// Open ones of this process. Their slots hold for as long as the lines are kept.
  var reservations: [[UInt8]: Reservation] = [:]
  private var devices: [[UInt8]: Device] = [:]
  /// nil until it is asked for.
  private var closedModels: Set<ProviderModel>?
  private var changedDevices: [Device] = []
  private var alarms: [LimitAlarm] = []
  private var opened: (transaction: SQLiteTransaction, statements: LedgerStatements)?

  /// - Parameter forgetting: what is kept may be stale.
  func open(_ transaction: SQLiteTransaction, forgetting: Bool) throws {
    alarms = []
    let statements = try opened?.statements ?? LedgerStatements(transaction)
    opened = (transaction, statements)
    if forgetting || lines.count + devices.count + names.count + reservations.count > Self.capacity {
      names.forget()
      lines.forget()
      reservations = [:]
      devices = [:]
      changedDevices = []
      closedModels = nil
    }
  }

  var transaction: SQLiteTransaction {
    get throws {
      guard let opened else { throw Closed() }
      return opened.transaction
    }
  }

  var statements: LedgerStatements {
    get throws {
      guard let opened else { throw Closed() }
      return opened.statements
    }
  }

  /// Writes each changed row once.
  func flush() throws {
    let statements = try statements
    let (update, updateUser) = (statements.updateDevice, statements.updateDeviceUser)
    for changed in changedDevices {
      let device = changed.state
      try update.bind(1, device.id)
      try update.bind(2, Int64(device.counters.highest))
      try update.bind(3, Int64(bitPattern: device.counters.near))
      try update.bind(4, Int64(bitPattern: device.counters.far))
      try update.bind(5, device.usedOn)
      try update.run()
      if changed.isUserChanged {
        try updateUser.bind(1, device.id)
        if let user = device.userID { try updateUser.bind(2, user) } else { try updateUser.bindNull(2) }
        if let person = device.person { try updateUser.bind(3, person) } else { try updateUser.bindNull(3) }
        try updateUser.run()
        changed.isUserChanged = false
      }
      changed.isChanged = false
    }
    changedDevices.removeAll(keepingCapacity: true)
    try lines.flush(statements)
  }

  // MARK: Evidence

  func device(_ keyID: [UInt8]) throws -> DeviceState? {
    if let known = devices[keyID] { return known.state }
    let select = try statements.device
    defer { select.reset() }
    try select.bind(1, keyID)
    guard try select.step() else { return nil }
    let appID = select.string(2)
    let counters = CounterWindow(
      highest: UInt32(truncatingIfNeeded: select.int64(5)), near: UInt64(bitPattern: select.int64(6)),
      far: UInt64(bitPattern: select.int64(7)))
    let device = DeviceState(
      id: select.int64(0), keyID: keyID, status: DeviceState.Status(rawValue: select.int64(1)) ?? .revoked,
      appID: appID, acceptance: "\(select.string(3))/\(appID)", anchor: select.bytes(4),
      userID: select.isNull(8) ? nil : select.string(8), person: select.isNull(13) ? nil : select.string(13),
      userBannedUntil: select.isNull(14) ? nil : select.int64(14), counters: counters,
      registeredAt: select.int64(9),
      riskMetric: select.isNull(10) ? nil : select.int64(10),
      isKnownDevice: select.isNull(11) ? nil : select.int64(11) != 0, usedOn: select.int64(12))
    devices[keyID] = Device(device)
    return device
  }

  func keep(_ device: DeviceState) throws {
    guard let known = devices[device.keyID] else { return }
    if known.state.userID != device.userID || known.state.person != device.person {
      known.isUserChanged = true
    }
    known.state = device
    if !known.isChanged {
      known.isChanged = true
      changedDevices.append(known)
    }
  }

  func refusal(ofUser id: String, now: Int64) throws -> AdmissionRefusal? {
    guard let user = UUID(id) else { return nil }
    let found = try transaction.first(LedgerUsers.select, [SQLValue(user)]) { LedgerUsers.Standing($0) }
    return LedgerUsers.refusal(of: found, now: now)
  }

  func refusal(ofSession id: [UInt8]) throws -> AdmissionRefusal? {
    let isThere = try transaction.first("select 1 from sessions where id = $1", [.uuid(id)]) { _ in true }
    return isThere == nil ? .sessionOver : nil
  }

  func consume(_ challenge: ConsumedChallenge, keyID: [UInt8]) throws -> Bool {
    let transaction = try transaction
    switch challenge {
    case .row(let random, let expiry):
      let floor = Challenges.floor(.sqlite)
      guard expiry > (try transaction.first(floor.sql) { $0.int64(0) } ?? .max) else { return false }
      return try transaction.execute(
        Challenges.insertion(random: random, expiry: expiry, keyID: keyID, unlessThere: true)) > 0
    case .mint(let count): return try transaction.execute(Challenges.mint(count, keyID: keyID)) > 0
    }
  }

  func session(_ tokenHash: [UInt8]) throws -> SessionState? {
    try transaction.first(
      """
      select k.key_id, t.routes, t.expiry from session_tokens t join device_keys k on k.id = t.device
      where t.hash = $1
      """, [.blob(tokenHash)]
    ) {
      let routes = $0.string(1).split(separator: "\n").map(String.init)
      return SessionState(keyID: $0.bytes(0), routes: routes, expiry: $0.int64(2))
    }
  }

  func debugToken(_ tokenHash: [UInt8]) throws -> DebugTokenState? {
    try transaction.first("select name, expiry from debug_tokens where hash = $1", [.blob(tokenHash)]) {
      DebugTokenState(name: $0.string(0), expiry: $0.int64(1))
    }
  }

  func noteUse(debugToken name: String, at time: Int64) throws {
    try transaction.execute(
      "update debug_tokens set last_use = $2 where name = $1", [.text(name), .integer(time)])
  }

  // MARK: Models

  func isClosed(_ model: ProviderModel) throws -> Bool {
    if let closedModels { return closedModels.contains(model) }
    let select = ClosedModelRows.select
    let closed = Set(try transaction.rows(select.sql, select.values) { ClosedModelRows.model($0) })
    closedModels = closed
    return closed.contains(model)
  }

  func keep(_ closure: ModelClosure) throws {
    try transaction.execute(ClosedModelRows.insert(closure))
    closedModels?.insert(closure.model)
  }

  // MARK: Lines

  func line(_ subject: LineSubject, rule: String, window: Window?, now: Int64) throws -> LedgerLine {
    let transaction = try transaction
    let (rule, period) = try names.find(rule, window, now: now, transaction)
    let key = LineRows.Key(
      subject: try names.subject(subject, transaction), rule: rule, period: period?.id ?? 0)
    return try lines.line(key, bounds: (period?.start ?? 0, period?.end ?? 0), try statements)
  }

  func line(at slot: Int) -> LedgerLine { lines.line(at: slot) }

  func line(_ subject: LineSubject, rule: String, besides slot: Int) throws -> LedgerLine {
    let transaction = try transaction
    let line = lines.line(at: slot)
    let name = try names.period(lines.key(at: slot).period, transaction)?.name ?? ""
    let window = Window(id: name, start: line.start, end: line.end)
    let (rule, period) = try names.exactly(rule, window, transaction)
    let key = LineRows.Key(subject: try names.subject(subject, transaction), rule: rule, period: period.id)
    return try lines.line(key, bounds: (period.start, period.end), try statements)
  }

  func keep(_ line: LedgerLine) { lines.keep(line) }

  func owner(ofLineAt slot: Int) throws -> (subject: LineSubject, rule: String) {
    let key = lines.key(at: slot)
    return try LineOwner.find(key, try transaction)
  }

  // MARK: Alarms

  func keep(_ alarm: LimitAlarm) throws {
    try transaction.execute(AlarmRows.insertion(alarm, .sqlite))
    alarms.append(alarm)
  }

  func takeAlarms() -> [LimitAlarm] {
    defer { alarms = [] }
    return alarms
  }
}
