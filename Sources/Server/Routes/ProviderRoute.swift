import Admission
import AppAttest
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// `POST /ai/{provider}/…`: one path of a provider's API, passed through under policy and quota.
struct ProviderRoute: Endpoint {
  let method = HTTPMethod.post
  let path: String
  let errors = ErrorStyle.anthropic
  /// The path at the provider.
  let providerPath: String
  let target: ProviderTarget
  let environment: Environment
  let challenges: ChallengeKeys
  let verifier: EvidenceVerifier
  let admitter: Admitter
  let live: LiveReservations
  let health: ProviderHealth
  /// nil where there are no accounts.
  let bearers: BearerCheck?

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let next = try await challenges.mint(.request, now: exchange.startedAt)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    guard request.fields.values("content-encoding").isEmpty else { throw Failure.contentEncoding }
    let presented = try PresentedEvidence(request.fields)
    let begun = try await verifier.begin(
      presented, route: path, policy: target.policy, body: request.body, now: exchange.startedAt)
    let body = try await request.body.collect(upTo: target.bodyLimit)
    let verified = try verifier.finish(begun, of: request, body: body)
    let user = try await bearers?.user(of: request, verified, admitter.plan, now: environment.now())

    var call: PreparedCall
    do throws(ProviderRefusal) {
      call = try prepare(request, body, pseudonym(verified), exchange)
    } catch {
      // Its evidence is used up all the same: no request of a device can be sent twice.
      _ = try await admitter.admit(.refused, verified, &exchange, lease: nil)
      throw Failure(error)
    }
    let verdict = await health.admit(now: environment.now())
    if case .refused(let retryAt) = verdict {
      _ = try await admitter.admit(.refused, verified, &exchange, lease: nil)
      let wait = max(1, (retryAt - environment.now() + 999) / 1000)
      throw Failure(
        503, .upstreamUnavailable, "The AI provider fails just now; try again soon.",
        fields: ["retry-after": String(wait)])
    }
    let isPaid = call.price != nil
    let admitted: Admitted
    do {
      admitted = try await admitter.admit(
        isPaid ? .paid(reserve: call.reserve) : .free, verified, &exchange, lease: LiveReservations.lease,
        model: ProviderModel(provider: target.provider.name, name: call.model), user: user)
    } catch {
      if verdict == .probe { await health.probeWithdrawn(now: environment.now()) }
      throw error
    }
    await live.begin(
      exchange.id, at: LiveReservations.Instant(wall: environment.now(), uptime: environment.uptime()))
    if case .session = verified.evidence, let keyID = admitted.keyID,
      let named = try? prepare(request, body, target.pseudonym(keyID: keyID), exchange)
    {
      // Whose token it is, admission alone knows. The name is as long as the one that was reserved with.
      call = named
    }
    let context = CallContext(
      environment: environment, metrics: admitter.metrics, log: admitter.log, live: live,
      owed: admitter.owed, health: health, id: exchange.id, requestID: exchange.requestID, route: path,
      provider: target.provider.name, model: call.model, keyID: admitted.keyID, userID: admitted.userID,
      startedAt: exchange.startedAt, started: exchange.started)
    let running = ProviderCall(call, target: target, context: context)
    let response = try await running.start()
    if response.status >= 400 { exchange.code = await running.code }
    return response
  }

  private func prepare(
    _ request: HTTPRequest, _ body: [UInt8], _ pseudonym: String?, _ exchange: Exchange
  ) throws(ProviderRefusal) -> PreparedCall {
    try target.provider.prepare(
      ProviderRequest(
        method: request.method, path: providerPath, query: request.query.map(String.init),
        fields: request.fields, body: body, pseudonym: pseudonym, now: exchange.startedAt / 1000))
  }

  /// The name of the device at the provider; for a session token one of the same length in its stead.
  private func pseudonym(_ verified: VerifiedEvidence) -> String? {
    switch verified.evidence {
    case .none: nil
    case .assertion(let keyID, _, _): target.pseudonym(keyID: keyID)
    case .session: target.pseudonym(keyID: [])
    case .debugToken(let hash): target.pseudonym(keyID: hash)
    }
  }
}

extension Failure {
  /// A policy's refusal.
  init(_ refusal: ProviderRefusal) {
    let place = refusal.place.map { "\($0): " } ?? ""
    self.init(
      refusal.status, ErrorCode(rawValue: refusal.code), place + refusal.message,
      fields: ["x-should-retry": "false"])
  }
}
