import Admission
import AppAttest
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// The way to a provider that every call goes, whichever route it came by: evidence, policy, the provider's
/// health, and admission with its reservation.
struct ProviderGate: Sendable {
  let environment: Environment
  let challenges: ChallengeKeys
  let verifier: EvidenceVerifier
  let admitter: Admitter
  let live: LiveReservations
  /// nil where there are no accounts.
  let bearers: BearerCheck?

  /// Whoever asks, as far as the processor can tell, with the body; nothing is consumed yet. Throws a
  /// ``Failure``.
  ///
  /// - Parameter route: the template, which a session token must open.
  func caller(
    of request: HTTPRequest, route: String, policy: Configuration.RoutePolicy, bodyLimit: Int,
    _ exchange: inout Exchange
  ) async throws -> Caller {
    let next = try await challenges.mint(.request, now: exchange.startedAt)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    guard request.fields.values("content-encoding").isEmpty else { throw Failure.contentEncoding }
    let presented = try PresentedEvidence(request.fields)
    let begun = try await verifier.begin(
      presented, route: route, policy: policy, body: request.body, now: exchange.startedAt)
    let body = try await request.body.collect(upTo: bodyLimit)
    let verified = try verifier.finish(begun, of: request, body: body)
    let user = try await bearers?.user(of: request, verified, admitter.plan, now: environment.now())
    return Caller(body: body, verified: verified, user: user)
  }

  /// Admits the call that `prepare` makes of the caller's request, with its money reserved. Throws a
  /// ``Failure``; the evidence is used up all the same.
  ///
  /// - Parameters:
  ///   - function: the name of the function that makes the call.
  ///   - lease: milliseconds that the reservation lasts if nobody renews it.
  ///   - prepare: judges the request under the device's name at the provider, nil for none. It may be asked
  ///     twice.
  func admit(
    _ caller: Caller, to target: ProviderTarget, route: String, function: String? = nil,
    _ exchange: inout Exchange, lease: Int64 = LiveReservations.lease,
    preparing prepare: (String?) throws(ProviderRefusal) -> PreparedCall
  ) async throws -> AdmittedCall {
    let verified = caller.verified
    var call: PreparedCall
    do throws(ProviderRefusal) {
      call = try prepare(pseudonym(verified, at: target))
    } catch {
      // No request of a device can be sent twice.
      _ = try await refuse(caller, &exchange)
      throw Failure(error)
    }
    let verdict = await target.health.admit(now: environment.now())
    if case .refused(let retryAt) = verdict {
      _ = try await refuse(caller, &exchange)
      let wait = max(1, (retryAt - environment.now() + 999) / 1000)
      throw Failure(
        503, .upstreamUnavailable, "The AI provider fails just now; try again soon.",
        fields: ["retry-after": String(wait)])
    }
    let paid = PaidCall(
      provider: target.provider.name, model: call.model, function: function, bound: call.bound)
    let admitted: Admitted
    do {
      admitted = try await admitter.admit(
        call.price == nil ? .free : .paid(paid), verified, &exchange, lease: lease,
        model: ProviderModel(provider: target.provider.name, name: call.model), user: caller.user)
    } catch {
      if verdict == .probe { await target.health.probeWithdrawn(now: environment.now()) }
      throw error
    }
    await live.begin(
      exchange.id, at: LiveReservations.Instant(wall: environment.now(), uptime: environment.uptime()))
    if case .session = verified.evidence, let keyID = admitted.keyID,
      let named = try? prepare(target.pseudonym(keyID: keyID))
    {
      // Whose token it is, admission alone knows. The name is as long as the one that was reserved with.
      call = named
    }
    let context = CallContext(
      environment: environment, metrics: admitter.metrics, log: admitter.log, live: live,
      owed: admitter.owed, health: target.health, id: exchange.id, requestID: exchange.requestID,
      route: route,
      provider: target.provider.name, model: call.model, function: function, keyID: admitted.keyID,
      userID: admitted.userID,
      startedAt: exchange.startedAt, started: exchange.started)
    return AdmittedCall(call: call, context: context)
  }

  /// Uses the evidence up, and counts the burst alone: of a request that goes to no provider.
  @discardableResult
  func refuse(_ caller: Caller, _ exchange: inout Exchange) async throws -> Admitted {
    try await admitter.admit(.refused, caller.verified, &exchange, lease: nil)
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

/// Whoever sent a request, and its body.
struct Caller: Sendable {
  let body: [UInt8]
  let verified: VerifiedEvidence
  /// The user of the access token beside the evidence.
  let user: KeyUser?
}

/// A call whose money is reserved: it must be made, or settled.
struct AdmittedCall: Sendable {
  let call: PreparedCall
  let context: CallContext
}

extension Failure {
  /// What an app is told of a provider's error.
  init(_ error: ProviderError) {
    self.init(
      error.status, ErrorCode(rawValue: error.code), error.message, fields: error.fields,
      members: error.providerCode.map { [Member("provider_code", .string($0))] } ?? [],
      providerType: error.type)
  }

  /// A policy's refusal.
  init(_ refusal: ProviderRefusal) {
    let place = refusal.place.map { "\($0): " } ?? ""
    self.init(
      refusal.status, ErrorCode(rawValue: refusal.code), place + refusal.message,
      fields: ["x-should-retry": "false"])
  }
}
