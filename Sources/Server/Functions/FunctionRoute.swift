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
  /// Who may answer, in the order in which they are asked.
  let links: [FunctionLink]
  private let first: FunctionLink
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
    links = definition.chain.compactMap {
      FunctionLink($0, configuration: configuration, targets: targets)
    }
    guard let first = links.first, links.count == definition.chain.count else { return nil }
    self.first = first
    path = function.path
    self.function = function
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
      request, caller, &exchange, recover: { try await keeper.recovered(run: $0, of: owner) }
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
    let chain = CallChain(
      first: first.call(caller.body, now: now),
      fallbacks: links.dropFirst().map { $0.call(caller.body, now: now) })
    let admitted = try await gate.admit(
      caller, along: chain, route: path, function: function.definition.name, &exchange)
    let running = ProviderCall(admitted, errors: errors, holdsSettlement: owner != nil)
    if let owner, let keeper {
      let call = ObjectKeeper.Making(
        id: exchange.id, owner: owner, origin: exchange.isRun ? exchange.id : nil)
      return AdmittedWork(call: running) {
        let response = try await running.start()
        guard response.status < 400 else { return response }
        return try await keeper.answer(await answer(of: running), to: response, of: running, for: call)
      }
    }
    return AdmittedWork(call: running) {
      let response = try await running.start()
      guard response.status < 400 else { return response }
      return try await answer(of: running).answer(to: response)
    }
  }

  /// How the answer of whoever gave one is read.
  private func answer(of running: ProviderCall) async -> FunctionResponse {
    let place = await running.place
    let link = links.indices.contains(place) ? links[place] : first
    return FunctionResponse(function: function.definition, reader: link.dialect.reader())
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
