import Gateway
import HTTPMessages

/// `/ai/{provider}/…`: one path of a provider's API, passed through under policy and quota.
struct ProviderRoute: Endpoint {
  /// Method and path at the provider.
  let providerPath: ProviderPath
  let target: ProviderTarget
  let gate: ProviderGate
  let idempotency: Idempotency

  var method: HTTPMethod { providerPath.method }
  var path: String { target.path(providerPath.path) }
  var errors: ErrorStyle { target.errors }

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let caller = try await gate.caller(
      of: request, route: path, policy: target.policy, bodyLimit: target.bodyLimit, &exchange)
    let now = exchange.startedAt / 1000
    let providerPath = providerPath.path(parameter: exchange.parameter)
    return try await idempotency.answer(request, caller, &exchange) { exchange in
      let admitted = try await gate.admit(caller, to: target, route: path, &exchange) {
        pseudonym throws(ProviderRefusal) in
        try target.provider.prepare(
          ProviderRequest(
            method: request.method, path: providerPath, query: request.query.map(String.init),
            fields: request.fields, body: caller.body, pseudonym: pseudonym, now: now))
      }
      let running = ProviderCall(AdmittedChain(first: admitted))
      return AdmittedWork(call: running) { try await running.start() }
    }
  }
}
