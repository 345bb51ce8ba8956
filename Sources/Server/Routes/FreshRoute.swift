import BramleyAPI
import Gateway
import HTTPMessages

/// A route that demands a recent sign-in beside whatever it demands itself (RFC 9470, `auth.step_up_routes`). It asks
/// before anything of the request is used up, so that the app can sign in again and repeat it.
struct FreshRoute: Endpoint {
  let inner: any Endpoint
  /// Seconds.
  let maximumAge: Int64
  let bearers: BearerCheck

  var method: HTTPMethod { inner.method }
  var path: String { inner.path }
  var errors: ErrorStyle { inner.errors }

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let bearer = try await bearers.require(request, now: exchange.startedAt)
    try bearer.requireFresh(maximumAge: maximumAge, now: exchange.startedAt)
    return try await inner.respond(to: request, &exchange)
  }

  /// The account routes with a bearer, for which it can be configured.
  static let accountPaths = [
    AccountTargets.user, AccountTargets.logout, AccountTargets.identity, AccountTargets.identityAuthorize,
  ]
}

extension Configuration {
  /// The templates of routes that can demand a recent sign-in.
  var freshPaths: [String] {
    let provided = providers.flatMap { provider in
      ProviderTarget(provider).map { target in target.provider.paths.map { target.path($0.path) } } ?? []
    }
    return Set(provided).sorted() + functions.map(\.path) + FreshRoute.accountPaths
  }
}

extension Application {
  /// The endpoints, those of them wrapped that the configuration wants so.
  static func demandingFreshness(
    _ endpoints: [any Endpoint], _ accounts: AccountService?
  ) -> [any Endpoint] {
    guard let accounts else { return endpoints }
    let ages = Dictionary(
      accounts.auth.stepUpRoutes.map { ($0.route, $0.maximumAge) }, uniquingKeysWith: { min($0, $1) })
    return endpoints.map { endpoint in
      guard let age = ages[endpoint.path] else { return endpoint }
      return FreshRoute(inner: endpoint, maximumAge: age, bearers: accounts.bearers)
    }
  }
}
