import Admission
import AppAttest

/// What the ledger's jobs need of the rows, beside the decision itself.
protocol LedgerRows: AdmissionBook {
  /// Deletes the reservation and returns what it was; nil when there is none.
  func takeReservation(_ id: [UInt8]) throws -> Reservation?
  func takeExpiredReservations(now: Int64, limit: Int) throws -> [Reservation]
  /// False when there is no such reservation. A lease is never shortened.
  func renew(_ id: [UInt8], until: Int64) throws -> Bool
  /// Keeps the token, and ends the key's oldest beyond `atMost` and those that expired.
  func add(_ token: SessionToken, of keyID: [UInt8], userID: String?, atMost: Int, now: Int64) throws
  /// - Parameter device: the row of the key whose reservation was settled.
  func add(_ usage: UsageRecord, device: Int64?) throws
  /// The alarms since the last asking.
  func takeAlarms() -> [LimitAlarm]
}

extension LedgerJob {
  /// Decides the job on these rows.
  func answer(in book: some LedgerRows) throws -> LedgerAnswer {
    let content = try content(in: book)
    return LedgerAnswer(content: content, alarms: book.takeAlarms())
  }

  private func content(in book: some LedgerRows) throws -> LedgerContent {
    switch self {
    case .admit(let request):
      return .decision(try AdmissionRule.decide(request, in: book))
    case .issueSession(let request, let token, let atMost):
      let decision = try AdmissionRule.decide(request, within: token.session, in: book)
      if case .admitted(let admitted) = decision, let keyID = admitted.keyID {
        try book.add(token, of: keyID, userID: admitted.userID, atMost: atMost, now: request.now / 1_000)
      }
      return .decision(decision)
    case .settle(let settlement):
      if let closure = settlement.closure { try book.keep(closure) }
      guard let reservation = try book.takeReservation(settlement.id) else { return .done(false) }
      try Settling.settle(
        reservation, as: settlement.outcome, sparing: settlement.spared, now: settlement.now, in: book)
      if let usage = settlement.usage { try book.add(usage, device: reservation.device) }
      return .done(true)
    case .renew(let id, let lease, let now):
      let (until, overflow) = book.leaseTime(now: now).addingReportingOverflow(lease)
      return .done(try book.renew(id, until: overflow ? .max : until))
    case .sweep(let now, let limit):
      let expired = try book.takeExpiredReservations(now: now, limit: limit)
      for reservation in expired { try Self.end(reservation, now: now, in: book) }
      return .count(expired.count)
    case .remaining(let keyID, let charges, let now):
      let request = Self.question(keyID, charges, now)
      return .remaining(try AdmissionRule.remaining(request, device: try book.device(keyID), in: book))
    }
  }

  /// Ends what nobody settled, with a row of usage: the sums of that table agree with the money that is booked.
  private static func end(_ reservation: Reservation, now: Int64, in book: some LedgerRows) throws {
    switch reservation.ending {
    case .known(let settlement):
      if let closure = settlement.closure { try book.keep(closure) }
      try Settling.settle(
        reservation, as: settlement.outcome, sparing: settlement.spared, now: now, in: book)
      if let usage = settlement.usage { try book.add(usage, device: reservation.device) }
    case .held(var usage):
      // Without a budget nothing is held, and it may have cost that all the same.
      usage.cost = max(try Settling.expire(reservation, now: now, in: book), usage.cost)
      try book.add(usage, device: reservation.device)
    case nil:
      let cost = try Settling.expire(reservation, now: now, in: book)
      let usage = UsageRecord(
        keyID: nil, userID: nil, route: "expired lease", provider: "", model: "", status: 0, cost: cost,
        estimated: true, startedAt: now)
      if cost > 0 { try book.add(usage, device: reservation.device) }
    }
  }

  /// A request that only asks what is left.
  static func question(_ keyID: [UInt8], _ charges: [Charge], _ now: Int64) -> AdmissionRequest {
    AdmissionRequest(
      id: [], evidence: .assertion(keyID: keyID, counter: 0, challenge: nil),
      expectation: KeyExpectation(apps: [], anchors: []), now: now, charges: charges, lease: nil,
      address: "")
  }
}
