import Admission
import BramleyAPI
import Gateway
import HTTPMessages

extension ProviderGate {
  /// A link that would be asked, with its request.
  private struct Candidate {
    let place: Int
    let link: CallLink
    var call: PreparedCall

    var health: ProviderHealth { link.target.health }
    var model: ProviderModel { ProviderModel(provider: link.target.provider.name, name: call.model) }
  }

  /// Admits a call that any link of a chain may answer. Evidence, counts and burst are used once; the money is the
  /// most that one of them can come to. A link is left out whose provider fails just now, whose model is closed or
  /// whose own limits are used up; where none is left, the first one's refusal is thrown.
  ///
  /// - Parameters:
  ///   - function: the name of the function that makes the call.
  ///   - lease: milliseconds that the reservation lasts if nobody renews it.
  func admit(
    _ caller: Caller, along chain: CallChain, route: String, function: String? = nil,
    _ exchange: inout Exchange, lease: Int64 = LiveReservations.lease
  ) async throws -> AdmittedChain {
    var candidates = try await self.candidates(chain, caller, &exchange)
    let (verdict, retryAt) = await healthy(&candidates, now: environment.now())
    guard let head = candidates.first else {
      _ = try await refuse(caller, &exchange)
      throw Failure.providerFails(until: retryAt, now: environment.now())
    }
    let paid = candidates.map {
      PaidCall(provider: $0.model.provider, model: $0.call.model, function: function, bound: $0.call.bound)
    }
    let isChain = paid.count > 1
    let kind: ChargePlan.Kind =
      isChain ? .chain(paid) : head.call.price == nil ? .free : .paid(paid[0])
    let admitted: Admitted
    do {
      admitted = try await admitter.admit(
        kind, caller.verified, &exchange, lease: lease, model: isChain ? nil : head.model, user: caller.user,
        unsettled: Self.unsettled(paid, route, exchange))
    } catch {
      if verdict == .probe { await head.health.probeWithdrawn(now: environment.now()) }
      throw error
    }
    await live.begin(
      exchange.id, at: LiveReservations.Instant(wall: environment.now(), uptime: environment.uptime()))
    let rules = ChainContext(rules: isChain ? admitter.plan.providerRules(paid) : [])
    let open = isChain ? admitted.choices.filter(candidates.indices.contains) : [0]
    let calls = open.map { place in
      let candidate = candidates[place]
      return AdmittedCall(
        call: named(candidate, caller.verified, admitted), target: candidate.link.target,
        context: context(
          candidate.link.target, candidate.call.model, route, function, admitted, rules, exchange),
        place: candidate.place)
    }
    guard let first = calls.first else { throw Failure.modelClosed }
    if open.first == 0 { return AdmittedChain(first: first, fallbacks: Array(calls.dropFirst())) }
    // The one whose health was asked is not open after all.
    if verdict == .probe { await head.health.probeWithdrawn(now: environment.now()) }
    return try await healthy(calls)
  }

  /// The row of usage of a call whose server dies: of the dearest that may answer, for that is what is held.
  private static func unsettled(
    _ calls: [PaidCall], _ route: String, _ exchange: Exchange
  ) -> UsageRecord? {
    calls.max { $0.bound.cost < $1.bound.cost }.map {
      UsageRecord(
        keyID: nil, userID: nil, route: route, provider: $0.provider, model: $0.model, status: 0,
        cost: $0.bound.cost, estimated: true, startedAt: exchange.startedAt, function: $0.function)
    }
  }

  /// Every link whose provider's rules take the request. What they refuse of the first is refused.
  private func candidates(
    _ chain: CallChain, _ caller: Caller, _ exchange: inout Exchange
  ) async throws -> [Candidate] {
    var candidates: [Candidate] = []
    do throws(ProviderRefusal) {
      let call = try chain.first.prepare(pseudonym(caller.verified, at: chain.first.target))
      candidates.append(Candidate(place: 0, link: chain.first, call: call))
    } catch {
      // No request of a device can be sent twice.
      _ = try await refuse(caller, &exchange)
      throw Failure(error)
    }
    for (place, link) in chain.fallbacks.enumerated() {
      guard let call = try? link.prepare(pseudonym(caller.verified, at: link.target)) else { continue }
      candidates.append(Candidate(place: place + 1, link: link, call: call))
    }
    return candidates
  }

  /// Drops those from the front whose provider fails; what was said of the first that is left, and when the earliest
  /// of the others may be asked again.
  private func healthy(
    _ candidates: inout [Candidate], now: Int64
  ) async -> (verdict: CircuitBreaker.Verdict, retryAt: Int64) {
    var retryAt = Int64.max
    while let head = candidates.first {
      let verdict = await head.health.admit(now: now)
      guard case .refused(let until) = verdict else { return (verdict, retryAt) }
      retryAt = min(retryAt, until)
      candidates.removeFirst()
      if !candidates.isEmpty { admitter.metrics.fallbacks[head.model.provider].add() }
    }
    return (.allowed, retryAt)
  }

  /// The same of calls that are admitted: where none is left, nothing was asked of anybody.
  private func healthy(_ calls: [AdmittedCall]) async throws -> AdmittedChain {
    let now = environment.now()
    var retryAt = Int64.max
    for (index, call) in calls.enumerated() {
      guard case .refused(let until) = await call.target.health.admit(now: now) else {
        return AdmittedChain(first: call, fallbacks: Array(calls.dropFirst(index + 1)))
      }
      retryAt = min(retryAt, until)
    }
    let failure = Failure.providerFails(until: retryAt, now: now)
    await calls.last?.context.settle(
      CallSettlement(outcome: .released(giveBackCount: true)), status: failure.status, firstByte: nil)
    throw failure
  }

  /// The call under the device's name. Whose token it is, admission alone knows; the name is as long as the one that
  /// was reserved with.
  private func named(
    _ candidate: Candidate, _ verified: VerifiedEvidence, _ admitted: Admitted
  ) -> PreparedCall {
    guard case .session = verified.evidence, let keyID = admitted.keyID else { return candidate.call }
    let named = try? candidate.link.prepare(candidate.link.target.pseudonym(keyID: keyID))
    return named ?? candidate.call
  }

  private func context(
    _ target: ProviderTarget, _ model: String, _ route: String, _ function: String?, _ admitted: Admitted,
    _ chain: ChainContext, _ exchange: Exchange
  ) -> CallContext {
    CallContext(
      environment: environment, metrics: admitter.metrics, log: admitter.log, live: live,
      owed: admitter.owed, health: target.health, id: exchange.id, requestID: exchange.requestID,
      route: route, provider: target.provider.name, model: model, function: function,
      keyID: admitted.keyID, userID: admitted.userID, startedAt: exchange.startedAt,
      started: exchange.started, chain: chain)
  }

  /// The name of the device at the provider; for a session token one of the same length in its stead.
  private func pseudonym(_ verified: VerifiedEvidence, at target: ProviderTarget) -> String? {
    switch verified.evidence {
    case .none: nil
    case .assertion(let keyID, _, _): target.pseudonym(keyID: keyID)
    case .session: target.pseudonym(keyID: [])
    case .debugToken(let hash): target.pseudonym(keyID: hash)
    }
  }
}

extension Failure {
  /// A provider's circuit breaker is open. Milliseconds since 1970.
  fileprivate static func providerFails(until retryAt: Int64, now: Int64) -> Failure {
    let wait = min(max(1, (retryAt.subtractingReportingOverflow(now).partialValue + 999) / 1000), 60)
    return Failure(
      503, .upstreamUnavailable, "The AI provider fails just now; try again soon.",
      fields: ["retry-after": String(wait)])
  }
}
