import Admission
import AppAttest
import Gateway
import SQL

/// What a batch is about, before anything is looked up.
private struct Wanted {
  var requests: [AdmissionRequest] = []
  var keyIDs: Set<[UInt8]> = []
  var sessions: Set<[UInt8]> = []
  var debugTokens: Set<[UInt8]> = []
  var challenges: Set<Int64> = []
  var reservations: Set<[UInt8]> = []
  /// Settlements that may give a count back.
  var givesBack: [[UInt8]] = []
  var sweep: (now: Int64, limit: Int)?

  init(_ jobs: [LedgerJob]) {
    for job in jobs {
      switch job {
      case .admit(let request), .issueSession(let request, _, _): add(request)
      case .settle(let settlement):
        reservations.insert(settlement.id)
        if settlement.outcome == .released(giveBackCount: true) { givesBack.append(settlement.id) }
      case .renew(let id, _, _): reservations.insert(id)
      case .sweep(let now, let limit):
        sweep = (max(now, sweep?.now ?? now), limit + (sweep?.limit ?? 0))
      case .remaining(let keyID, let charges, let now):
        keyIDs.insert(keyID)
        requests.append(LedgerJob.question(keyID, charges, now))
      }
    }
  }

  private mutating func add(_ request: AdmissionRequest) {
    requests.append(request)
    switch request.evidence {
    case .assertion(let keyID, _, let challenge):
      keyIDs.insert(keyID)
      if let challenge {
        challenges.insert(challenge.random.prefix(8).reduce(0) { $0 << 8 | Int64($1) })
      }
    case .session(let hash, _): sessions.insert(hash)
    case .debugToken(let hash): debugTokens.insert(hash)
    case .none: break
    }
  }
}

extension SharedLedgerBook {
  /// Locks and loads every row that the jobs can touch: devices and what proves them, reservations, lines.
  func load(_ jobs: [LedgerJob]) throws {
    let wanted = Wanted(jobs)
    try loadEvidence(wanted)
    let requests = wanted.requests.map { (request: $0, bearer: bearer(of: $0)) }
    try resolve(requests, wanted)
    var bounds: [LineRows.Key: (start: Int64, end: Int64)] = [:]
    for (request, bearer) in requests {
      for charge in request.possibleCharges {
        guard let subject = bearer?.subject(of: charge) else { continue }
        var window: Window?
        if case .window(let asked, _, _) = charge.limit { window = asked }
        let found = try key(subject, charge.row, window, now: request.now)
        bounds[found.key] = found.bounds
      }
    }
    for line in reservations.values.flatMap(\.lines) {
      if line.key.period == 0 {
        bounds[line.key] = (0, 0)
      } else if let period = names.period(line.key.period) {
        bounds[line.key] = (period.start, period.end)
      } else {
        lines.addGone(line.key)
      }
    }
    for id in wanted.givesBack {
      guard let found = try givenBackKey(id) else { continue }
      bounds[found.key] = found.bounds
    }
    try lines.load(bounds, names, transaction)
  }

  /// Who a request is of, if its evidence holds; nil for one that is refused before any line is looked at.
  private func bearer(of request: AdmissionRequest) -> Bearer? {
    switch request.evidence {
    case .assertion(let keyID, _, _):
      // A mere question about a key that is not there still asks for everyone's lines.
      guard var bearer = devices[keyID].map({ Bearer(device: $0) }) else {
        return request.id.isEmpty ? Bearer() : nil
      }
      _ = bearer.become(request.user)
      return bearer
    case .session(let hash, _):
      return sessions[hash].flatMap { devices[$0.keyID] }.map { Bearer(device: $0) }
    case .debugToken(let hash): return debugTokens[hash].map { Bearer(debugToken: $0) }
    case .none: return Bearer(user: request.user)
    }
  }

  /// The row that counts what a key got back, as `Settling` will ask for it: beside the shortest period that the
  /// reservation counted in.
  private func givenBackKey(
    _ id: [UInt8]
  ) throws -> (key: LineRows.Key, bounds: (start: Int64, end: Int64))? {
    guard let kept = reservations[id], let device = kept.device else { return nil }
    let counted = kept.lines.filter { $0.kind == .count }.compactMap { names.period($0.key.period) }
      .filter { Settling.isGivenBack(start: $0.start, end: $0.end) }
    guard let day = counted.min(by: { $0.end - $0.start < $1.end - $1.start }),
      let rule = names.rule(Settling.giveBackRule)
    else { return nil }
    let period = try names.exactly(Settling.giveBackRule, day.window, isAlone: isAlone, transaction)
    return (LineRows.Key(subject: device, rule: rule, period: period.id), (period.start, period.end))
  }

  private func resolve(
    _ requests: [(request: AdmissionRequest, bearer: Bearer?)], _ wanted: Wanted
  ) throws {
    var rules: Set<String> = []
    var subjects: Set<LineSubject> = []
    for (request, bearer) in requests {
      for charge in request.possibleCharges {
        guard let subject = bearer?.subject(of: charge) else { continue }
        rules.insert(charge.row)
        subjects.insert(subject)
      }
    }
    if !wanted.givesBack.isEmpty { rules.insert(Settling.giveBackRule) }
    let periods = Set(reservations.values.flatMap(\.lines).map(\.key.period)).subtracting([0])
    try names.resolve(rules: rules, subjects: subjects, periods: periods, transaction)
  }

  private enum Part {
    case lock, generation, model, device, session, debugToken, reservation, expired
  }

  /// One round trip; its order is the order of the locks.
  private func loadEvidence(_ wanted: Wanted) throws {
    var parts: [(Part, Query)] = [
      (.lock, isAlone ? LedgerLock.exclusive : LedgerLock.shared), (.generation, LedgerLock.generation),
    ]
    let (keyIDs, hashes) = (SQLValue.blobs(Array(wanted.keyIDs)), SQLValue.blobs(Array(wanted.sessions)))
    if wanted.requests.contains(where: \.callsModel) { parts.append((.model, ClosedModelRows.select)) }
    if !wanted.keyIDs.isEmpty || !wanted.sessions.isEmpty {
      parts.append((.device, Query(Self.selectDevices, [keyIDs, hashes])))
    }
    if !wanted.sessions.isEmpty { parts.append((.session, Query(Self.selectSessions, [hashes]))) }
    if !wanted.debugTokens.isEmpty {
      let hashes = SQLValue.blobs(Array(wanted.debugTokens))
      parts.append((.debugToken, Query(Self.selectDebugTokens, [hashes])))
    }
    if !wanted.challenges.isEmpty {
      let numbers = SQLValue.integers(wanted.challenges.sorted())
      parts.append((.lock, Query("select pg_advisory_xact_lock(n) from unnest($1::bigint[]) n", [numbers])))
    }
    if !wanted.reservations.isEmpty {
      let ids = SQLValue.blobs(Array(wanted.reservations))
      parts.append((.reservation, Query(Self.selectReservations, [ids])))
    }
    if let sweep = wanted.sweep {
      let limit = SQLValue.integer(Int64(sweep.limit))
      parts.append(
        (
          .expired,
          clock == .database
            ? Query(Self.selectExpired(before: LeaseClock.serverTime), [limit])
            : Query(Self.selectExpired(before: "$2"), [limit, .integer(sweep.now)])
        ))
    }
    var generation: String?
    try transaction.together(parts.map(\.1)) { index, row in
      switch parts[index].0 {
      case .lock: break
      case .model: closedModels.insert(ClosedModelRows.model(row))
      case .generation:
        generation = row.optionalString(0)
        serverTime = row.int64(1)
      case .device: add(device: row)
      case .session:
        let routes = row.string(2).split(separator: "\n").map(String.init)
        sessions[row.bytes(0)] = SessionState(keyID: row.bytes(1), routes: routes, expiry: row.int64(3))
      case .debugToken:
        debugTokens[row.bytes(0)] = DebugTokenState(name: row.string(1), expiry: row.int64(2))
      case .reservation: try add(reservation: row)
      case .expired:
        try add(reservation: row)
        expired.append(row.bytes(0))
      }
    }
    names.enter(generation)
  }

  private func add(device row: Row) {
    let keyID = row.bytes(0)
    let appID = row.string(3)
    let counters = CounterWindow(
      highest: UInt32(truncatingIfNeeded: row.int64(6)), near: UInt64(bitPattern: row.int64(7)),
      far: UInt64(bitPattern: row.int64(8)))
    devices[keyID] = DeviceState(
      id: row.int64(1), keyID: keyID, status: DeviceState.Status(rawValue: row.int64(2)) ?? .revoked,
      appID: appID, acceptance: "\(row.string(4))/\(appID)", anchor: row.bytes(5),
      userID: row.optionalString(9), person: row.optionalString(14), counters: counters,
      registeredAt: row.int64(10),
      riskMetric: row.optionalInt64(11), isKnownDevice: row.optionalInt64(12).map { $0 != 0 },
      usedOn: row.int64(13))
  }

  private func add(reservation row: Row) throws {
    guard let decoded = ReservedLines.decode(row.bytes(3)) else {
      throw DatabaseError.corrupt("reservations.lines")
    }
    reservations[row.bytes(0)] = KeptReservation(
      device: row.optionalInt64(1), lease: row.int64(2), lines: decoded)
  }

  private static let selectDevices = """
    select k.key_id, k.id, k.status, k.app_id, k.environment, k.anchor, s.highest, s.near, s.far, s.user_id,
      k.registered_at, k.risk_metric, k.known_device, s.used_on, s.person
    from device_keys k join device_states s on s.device = k.id
    where k.id in (
      select id from device_keys where key_id = any($1)
      union select device from session_tokens where hash = any($2))
    order by k.id for update of s
    """
  private static let selectSessions = """
    select t.hash, k.key_id, t.routes, t.expiry from session_tokens t join device_keys k on k.id = t.device
    where t.hash = any($1)
    """
  private static let selectDebugTokens = """
    select hash, name, expiry from debug_tokens where hash = any($1) order by id for update
    """
  private static let selectReservations = """
    select id, device, lease, lines from reservations where id = any($1) order by id for update
    """
  private static func selectExpired(before time: String) -> String {
    """
    select id, device, lease, lines from reservations where lease < \(time) order by id limit $1
    for update skip locked
    """
  }
}
