import Gateway

/// fal's queue as routes: one for each model that takes calls, three for the calls of models that the queue keeps
/// together.
struct FalQueueRoutes: Sendable {
  private let target: ProviderTarget
  private let models: [ProviderPath]
  private let queueNames: [String]

  /// Nil where fal is not configured, or there is nowhere to keep its calls.
  init?(_ environment: Environment) {
    guard let fal = environment.configuration.fal, environment.queuedCalls != nil,
      let target = ProviderTarget(fal.queue)
    else { return nil }
    self.target = target
    models = target.provider.paths
    queueNames = Set(fal.models.map { FalApp.queueName(of: $0) }).sorted()
  }

  var policy: Configuration.RoutePolicy { target.policy }

  /// Every template.
  var paths: [String] {
    models.map { target.path($0.path) }
      + queueNames.flatMap { name in
        [FalStep.status, .result, .cancel].map { FalCallRoute.path(queueName: name, $0) }
      }
  }

  func desk(_ environment: Environment, metrics: Metrics, log: ApplicationLog) -> FalDesk? {
    guard let store = environment.queuedCalls else { return nil }
    return FalDesk(
      environment: environment, exchange: FalExchange(target: target, upstream: environment.upstream),
      store: store, metrics: metrics, log: log)
  }

  /// - Parameter direct: the routes of models that are called directly.
  func endpoints(
    _ gate: ProviderGate, _ idempotency: Idempotency, _ desk: FalDesk, direct: [any Endpoint]
  ) -> [any Endpoint] {
    let endpoints = endpoints(gate, idempotency, desk)
    // Without session tokens there is nothing that it could take.
    guard policy == .session else { return endpoints }
    let router = Router(direct + endpoints, crossOrigin: CrossOrigin(origins: [], allowsLoopback: false))
    return endpoints + FalProxyRoute.methods.map { FalProxyRoute(method: $0, router: router) }
  }

  private func endpoints(
    _ gate: ProviderGate, _ idempotency: Idempotency, _ desk: FalDesk
  ) -> [any Endpoint] {
    models.map {
      FalSubmitRoute(
        path: target.path($0.path), providerPath: $0.path, gate: gate, idempotency: idempotency, desk: desk)
    }
      + queueNames.flatMap { name in
        [FalStep.status, .result, .cancel].map {
          FalCallRoute(step: $0, queueName: name, gate: gate, desk: desk)
        }
      }
  }
}
