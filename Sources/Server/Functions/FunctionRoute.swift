import Accounts
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// `POST /functions/v1/{name}`: one function, by its own path. The prompt stays here; the app sends what belongs
/// into its places, and gets an answer that is the same whichever provider makes it.
struct FunctionRoute: Endpoint {
  let method = HTTPMethod.post
  let path: String
  let errors = ErrorStyle.function
  let function: Configuration.Function
  let dialect: any FunctionDialect
  let target: ProviderTarget
  let gate: ProviderGate
  let idempotency: Idempotency
  /// Keeps what the function makes; nil where the app gets it.
  let keeper: ObjectKeeper?
  private let bodyLimit: Int

  /// nil for a provider that is not configured, which the configuration's reader refuses before.
  init?(
    _ function: Configuration.Function, gate: ProviderGate, idempotency: Idempotency,
    configuration: Configuration,
    targets: [String: ProviderTarget]
  ) {
    let definition = function.definition
    guard let configured = configuration.providers.first(where: { $0.name == definition.provider }),
      let shared = targets[definition.provider], let dialect = FunctionDialects.of(definition.provider),
      let target = ProviderTarget(configured.pinned(to: definition), health: shared.health)
    else { return nil }
    path = function.path
    self.function = function
    self.dialect = dialect
    self.target = target
    self.gate = gate
    self.idempotency = idempotency
    keeper = definition.result == .store ? ObjectKeeper(definition, gate) : nil
    guard keeper != nil || definition.result != .store else { return nil }
    bodyLimit = definition.inputLimit
  }

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let caller = try await gate.caller(
      of: request, route: path, policy: function.policy, bodyLimit: bodyLimit, &exchange)
    let bearer: Bearer?
    do {
      bearer = try await requireUser(of: request)
    } catch {
      try await gate.refuse(caller, &exchange)
      throw error
    }
    let now = exchange.startedAt / 1000
    guard let keeper, let owner = bearer?.user.id else {
      return try await idempotency.answer(request, caller, &exchange) { exchange in
        try await admit(caller, now: now, &exchange)
      }
    }
    return try await idempotency.answer(
      request, caller, &exchange, recover: { try await keeper.recovered(origin: $0, of: owner) }
    ) { exchange in
      do {
        try await keeper.requireRoom(of: owner)
      } catch {
        try await gate.refuse(caller, &exchange)
        throw error
      }
      return try await admit(caller, now: now, storingFor: owner, &exchange)
    }
  }

  /// - Parameter owner: for whom the answer is kept; nil where the app gets it.
  private func admit(
    _ caller: Caller, now: Int64, storingFor owner: UUID? = nil, _ exchange: inout Exchange
  ) async throws -> AdmittedWork {
    let admitted = try await gate.admit(
      caller, to: target, route: path, function: function.definition.name, &exchange
    ) {
      pseudonym throws(ProviderRefusal) in
      try prepare(caller.body, pseudonym: pseudonym, now: now)
    }
    let running = ProviderCall(
      admitted.call, target: target, context: admitted.context, errors: errors,
      holdsSettlement: owner != nil)
    let answer = FunctionResponse(function: function.definition, reader: dialect.reader())
    if let owner, let keeper {
      let call = ObjectKeeper.Making(id: exchange.id, owner: owner, origin: exchange.claim)
      return AdmittedWork(call: running) {
        let response = try await running.start()
        return response.status < 400
          ? try await keeper.answer(answer, to: response, of: running, for: call) : response
      }
    }
    return AdmittedWork(call: running) {
      let response = try await running.start()
      return response.status < 400 ? try await answer.answer(to: response) : response
    }
  }

  /// The function's call of its provider, judged as any other.
  private func prepare(
    _ body: [UInt8], pseudonym: String?, now: Int64
  ) throws(ProviderRefusal) -> PreparedCall {
    let input = try FunctionInput(body, fields: function.definition.fields)
    let request = function.definition.request(of: input, in: dialect)
    return try target.provider.prepare(
      ProviderRequest(
        method: .post, path: request.path, fields: request.fields, body: request.body, pseudonym: pseudonym,
        now: now))
  }

  /// Whoever signed in; nil where nobody must. Throws a ``Failure`` unless whoever must have signed in has.
  private func requireUser(of request: HTTPRequest) async throws -> Bearer? {
    guard function.signIn != .none else { return nil }
    guard let bearers = gate.bearers else { throw Failure.noAuthorization }
    let now = gate.environment.now()
    let bearer = try await bearers.require(request, now: now)
    guard function.signIn == .identity else { return bearer }
    guard !bearer.user.identities.isEmpty else {
      throw Failure(403, .identityRequired, "This asks for a user who has signed in with Apple.")
    }
    if let age = function.maximumAge { try bearer.requireFresh(maximumAge: age, now: now) }
    return bearer
  }
}
