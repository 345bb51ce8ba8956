package import HTTPMessages

/// Bramley's application: one handler for the public listener, one for the operator's, and the jobs.
package struct Server: Sendable {
  /// The public listener's routes.
  package let handler: any HTTPHandler
  /// `/metrics` and `/admin`: a listener of their own (RULES §6.1).
  package let adminHandler: any HTTPHandler
  /// What runs beside the requests.
  package let jobs: [Job]
  package let metrics: Metrics

  /// Builds the whole out of its environment.
  package init(_ environment: Environment) {
    let endpoints: [any Endpoint] = [Health(), Ready(isReady: environment.isReady)]
    let crossOrigin = CrossOrigin(origins: Set(environment.configuration.corsOrigins))
    let router = Router(endpoints, crossOrigin: crossOrigin)
    metrics = Metrics(routes: router.templates + ["none"])
    let log = ApplicationLog(environment)
    handler = Pipeline(
      environment: environment, router: router, crossOrigin: crossOrigin, metrics: metrics, log: log)
    adminHandler = AdminHandler(metrics: metrics)
    jobs = []
  }
}

/// Work that is done again and again; the executable runs it.
package struct Job: Sendable {
  /// For the log.
  package let name: String
  /// Seconds from the end of one run to the start of the next.
  package let interval: Int64
  /// One run. It deals with its own errors.
  package let run: @Sendable () async -> Void
}
