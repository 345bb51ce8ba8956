import Admission
import AppAttest
import Encodings
import Gateway
import SQL

extension SharedLedgerBook {
  /// Locks and loads every row that the jobs can touch: devices and what proves them, reservations, lines.
  ///
  /// - Parameter memory: has all of it asked for in one round trip, if everything that the jobs name was seen before;
  ///   nil asks for the lines when it is known whose they are.
  /// - Throws: `Lacking` where the batch has to begin anew.
  func load(_ jobs: [LedgerJob], from memory: LastSeen?) async throws {
    var demand = BatchDemand()
    for job in jobs {
      await transaction.breathe()
      demand.add(job)
    }
    if let guess = memory?.rows(for: demand), let foreseen = await foresee(demand, guess) {
      await transaction.breathe()
      var loading = lines.loading(foreseen.bounds, names)
      let areNamesKnown = try await loadEvidence(demand, &loading)
      demandUsers(demand.requests)
      let isForeseen = await isForeseen(demand, guess)
      lacking.isWithoutGuess = !areNamesKnown || !isForeseen
      guard lacking.isEmpty else { throw Lacking() }
      try lines.finish(loading, names)
      return
    }
    var none = SharedLines.Loading()
    _ = try await loadEvidence(demand, &none)
    demandUsers(demand.requests)
    guard lacking.isEmpty else { throw Lacking() }
    // Of whoever may not become a key's nothing is made.
    let allowed = demand.without(users: refusedUsers(demand.requests))
    let seen = seen
    let needed = await names(of: allowed, seen)
    try await names.resolve(
      rules: needed.rules, subjects: needed.subjects, periods: needed.periods, transaction)
    let foreseen = try await foreseeAll(allowed, seen)
    await transaction.breathe()
    for key in foreseen.gone { lines.addGone(key) }
    try await lines.load(foreseen.bounds, names, transaction)
  }

  /// Whether every line that the batch can touch was among those of the guess.
  private func isForeseen(_ demand: BatchDemand, _ guess: SeenRows) async -> Bool {
    let seen = seen
    if seen.isCovered(by: guess) { return true }
    guard let truth = await foresee(demand, seen) else { return false }
    return truth.gone.isEmpty && lines.hold(truth.bounds.keys)
  }

  private enum Part {
    case lock, generation, user, existingUser, openSession, existingSession, model, device, session,
      debugToken, floor, consumed, mint, reservation, expired, ownerSubject, ownerRule
    case line(query: Int)
  }

  /// One round trip, with lines that are foreseen; its order is the order of the locks. Whether the names that are
  /// remembered hold.
  private func loadEvidence(_ wanted: BatchDemand, _ loading: inout SharedLines.Loading) async throws -> Bool
  {
    var parts: [(Part, Query)] = [
      (.lock, needs.isAlone ? LedgerLock.exclusive : LedgerLock.shared), (.generation, LedgerLock.generation),
    ]
    if let users = lockingUsers { parts.append((.user, users)) }
    if let users = existingUsers { parts.append((.existingUser, users)) }
    if !wanted.accountSessions.isEmpty {
      let (locking, existing) = Self.accountSessions(wanted.accountSessions)
      parts += [(.openSession, locking), (.existingSession, existing)]
    }
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
      parts += [
        (.lock, Challenges.lock(wanted.challenges)), (.floor, Challenges.floor(.postgreSQL)),
        (.consumed, KnownChallenges.consumed(wanted.challenges)),
      ]
    }
    if !wanted.minters.isEmpty { parts.append((.mint, KnownChallenges.mints(wanted.minters))) }
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
    for (index, query) in loading.queries.enumerated() { parts.append((.line(query: index), query)) }
    if !needs.owners.isEmpty {
      parts += [
        (.ownerSubject, LineOwners.subjects(needs.owners)), (.ownerRule, LineOwners.rules(needs.owners)),
      ]
    }
    var generation: String?
    try await transaction.together(parts.map(\.1)) { index, row in
      switch parts[index].0 {
      case .lock: break
      case .model: closedModels.insert(ClosedModelRows.model(row))
      case .generation:
        generation = row.optionalString(0)
        serverTime = row.int64(1)
      case .user: try add(user: row)
      case .existingUser: try add(existingUser: row)
      case .openSession: openSessions.insert(try row.uuid(0).octets)
      case .existingSession: add(existingSession: try row.uuid(0).octets)
      case .device: add(device: row)
      case .session:
        let routes = row.string(2).split(separator: "\n").map(String.init)
        sessions[row.bytes(0)] = SessionState(keyID: row.bytes(1), routes: routes, expiry: row.int64(3))
      case .debugToken:
        debugTokens[row.bytes(0)] = DebugTokenState(name: row.string(1), expiry: row.int64(2))
      case .floor: challenges.floor = row.int64(0)
      case .consumed: challenges.consumed.insert(row.bytes(0))
      case .mint: challenges.mints[row.bytes(0)] = row.int64(1)
      case .reservation: try add(reservation: row)
      case .expired:
        let id = row.bytes(0)
        try add(reservation: row)
        reservations[id]?.ending = row.optionalBytes(4).flatMap {
          ReservationEnding($0, id: id, now: wanted.sweep?.now ?? 0)
        }
        expired.append(id)
      case .line(let query): lines.take(row, of: query, &loading)
      case .ownerSubject: owners.add(subject: row)
      case .ownerRule: owners.rules[row.int64(0)] = row.string(1)
      }
    }
    return names.enter(generation, transaction)
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
      userID: row.optionalString(9), person: row.optionalString(14),
      userBannedUntil: row.optionalInt64(15), counters: counters,
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
      k.registered_at, k.risk_metric, k.known_device, s.used_on, s.person, s.user_banned_until
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
    select id, device, lease, lines, ending from reservations where lease < \(time) order by id limit $1
    for update skip locked
    """
  }
}
