import Admission
import AppAttest
import SQL

/// Decides the ledger's jobs a batch at a time, on the writer's thread.
final class LedgerDecider: BatchDecider {
  private let book = LedgerBook()

  func decide(
    _ jobs: [LedgerJob], in transaction: Transaction, othersWrote: Bool
  ) throws -> [LedgerAnswer] {
    try book.open(transaction, forgetting: othersWrote)
    var answers: [LedgerAnswer] = []
    answers.reserveCapacity(jobs.count)
    for job in jobs { answers.append(try answer(job)) }
    try book.flush()
    return answers
  }

  private func answer(_ job: LedgerJob) throws -> LedgerAnswer {
    switch job {
    case .admit(let request):
      return .decision(try AdmissionRule.decide(request, in: book))
    case .issueSession(let request, let token, let atMost):
      let decision = try AdmissionRule.decide(request, in: book)
      if case .admitted(let admitted) = decision, let keyID = admitted.keyID {
        try book.add(token, of: keyID, userID: admitted.userID, atMost: atMost, now: request.now / 1_000)
      }
      return .decision(decision)
    case .settle(let settlement):
      guard let reservation = try book.takeReservation(settlement.id) else { return .done(false) }
      try Settling.settle(reservation, as: settlement.outcome, in: book)
      if let usage = settlement.usage { try book.add(usage, device: reservation.device) }
      return .done(true)
    case .renew(let id, let until):
      return .done(try book.renew(id, until: until))
    case .sweep(let now, let limit):
      let expired = try book.takeExpiredReservations(now: now, limit: limit)
      for reservation in expired {
        let cost = try Settling.expire(reservation, in: book)
        // The sums of the usage table agree with the money that is booked.
        let usage = UsageRecord(
          keyID: nil, userID: nil, route: "expired lease", provider: "", model: "", status: 0, cost: cost,
          estimated: true, startedAt: now)
        if cost > 0 { try book.add(usage, device: reservation.device) }
      }
      return .count(expired.count)
    case .remaining(let keyID, let charges, let now):
      let request = AdmissionRequest(
        id: [], evidence: .none, expectation: KeyExpectation(apps: [], anchors: []), now: now,
        charges: charges,
        leaseUntil: nil, address: "")
      return .remaining(try AdmissionRule.remaining(request, device: try book.device(keyID), in: book))
    }
  }
}
