import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// `POST /ai/fal/queue/{model}`: hands a call to fal's queue, with its money held until it is known what it cost
/// (RULES §5.7).
struct FalSubmitRoute: Endpoint {
  let method = HTTPMethod.post
  let path: String
  let errors = ErrorStyle.fal
  /// The path as the provider's policy knows it.
  let providerPath: String
  let gate: ProviderGate
  let idempotency: Idempotency
  let desk: FalDesk

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let target = desk.exchange.target
    let caller = try await gate.caller(
      of: request, route: path, policy: target.policy, bodyLimit: target.bodyLimit, &exchange)
    let now = exchange.startedAt / 1000
    let providerPath = providerPath
    let base = FalBase.of(request, gate.environment.configuration)
    return try await idempotency.answer(
      request, caller, &exchange, recover: { try await recovered(run: $0, base) }
    ) { exchange in
      let admitted = try await gate.admit(caller, to: target, route: path, &exchange) {
        pseudonym throws(ProviderRefusal) in
        try target.provider.prepare(
          ProviderRequest(
            method: request.method, path: providerPath, query: request.query.map(String.init),
            fields: request.fields, body: caller.body, pseudonym: pseudonym, now: now))
      }
      let submission = FalSubmission(admitted, of: caller, route: path, desk: desk, base: base)
      return AdmittedWork(call: submission) { try await submission.run() }
    }
  }

  /// The receipt of a call that a run handed over, and whose server died before it said so; nil where it did not come
  /// so far. Whoever asks is who the run was of.
  private func recovered(run: [UInt8], _ base: String) async throws -> HTTPResponse? {
    let call = try await storage { try await desk.store.call(ofReservation: run) }
    return call.map {
      .json(FalQueue.answer(.queued(position: 0), model: $0.model, id: FalDesk.name($0), base: base))
    }
  }
}

extension Caller {
  /// Whose a queued call is: the key, or the debug token.
  func owner(_ keyID: [UInt8]?) -> [UInt8]? {
    if let keyID { return keyID }
    guard case .debugToken(tokenHash: let hash) = verified.evidence else { return nil }
    return hash
  }
}

/// The URL below which the gateway has fal's queue, for a client.
enum FalBase {
  static let path = "/ai/fal/queue"

  /// Of the base URLs that clients are configured with the one that this request came by, else the first. Its host
  /// chooses among ours and is never repeated.
  static func of(_ request: HTTPRequest, _ configuration: Configuration) -> String {
    let audiences = configuration.attest.audiences
    let own = audiences.first { BaseURL($0)?.authority == request.authority }
    return (own ?? audiences.first ?? "") + path
  }
}
