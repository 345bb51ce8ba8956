package import Gateway
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
  package let configuration: Configuration
  private let events: EventJobs?

  /// Builds the whole out of its environment. Throws when the zone's file is none.
  package init(_ environment: Environment) throws(TimeZoneError) {
    let application = try Application(environment)
    configuration = environment.configuration
    let crossOrigin = CrossOrigin(
      origins: Set(configuration.corsOrigins), allowsLoopback: configuration.corsAllowsLoopback)
    let router = Router(application.endpoints, crossOrigin: crossOrigin)
    metrics = application.metrics
    handler = Pipeline(
      environment: environment, router: router, crossOrigin: crossOrigin, metrics: metrics,
      log: application.log)
    let none = CrossOrigin(origins: [], allowsLoopback: false)
    adminHandler = AdminHandler(
      metrics: metrics,
      routes: Pipeline(
        environment: environment, router: Router(application.adminEndpoints, crossOrigin: none),
        crossOrigin: none, metrics: metrics, log: application.log))
    jobs = application.jobs
    events = application.events
  }

  /// Brings the database to the configuration. To be awaited before the first request.
  package func prepare() async throws {
    try await events?.subscribe()
  }
}
