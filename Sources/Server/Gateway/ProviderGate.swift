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
  ///   - lease: milliseconds that the reservation lasts if nobody renews it.
  ///   - prepare: judges the request under the device's name at the provider, nil for none. It may be asked
  ///     twice.
  func admit(
    _ caller: Caller, to target: ProviderTarget, route: String, _ exchange: inout Exchange,
    lease: Int64 = LiveReservations.lease, preparing prepare: @escaping CallLink.Preparing
  ) async throws -> AdmittedCall {
    try await admit(
      caller, along: CallChain(first: CallLink(target: target, prepare: prepare)), route: route, &exchange,
      lease: lease
    ).first
  }

  /// Uses the evidence up, and counts the burst alone: of a request that goes to no provider.
  @discardableResult
  func refuse(_ caller: Caller, _ exchange: inout Exchange) async throws -> Admitted {
    try await admitter.admit(.refused, caller.verified, &exchange, lease: nil)
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
  let target: ProviderTarget
  let context: CallContext
  /// Which link of the chain it is of.
  var place = 0
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
