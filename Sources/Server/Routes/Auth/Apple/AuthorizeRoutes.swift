import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /auth/v1/authorize`: sends the browser to Apple's page.
struct AuthorizeRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.authorize
  let service: AccountService
  /// Each one is a row.
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let flows = service.flows
    let asked = try AuthorizeRequest(try request.parameters, flows, auth: service.auth)
    guard let flows else { throw Failure.noWebClient }
    if let wait = await limiter.admit(exchange.address, now: service.environment.uptime()) {
      throw Failure.overRequestRateLimit(nanoseconds: wait)
    }
    let (url, cookies) = try await flows.begin(asked, linking: nil, browser: request)
    var response = HTTPResponse(status: 302, fields: ["location": url])
    for cookie in cookies { response.fields.append("set-cookie", cookie) }
    return response
  }
}

/// `GET /auth/v1/user/identities/authorize`: the same to link the identity to the bearer's user; with
/// `skip_http_redirect=true` it answers the URL.
struct IdentityAuthorizeRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.identityAuthorize
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard service.auth.manualLinking else { throw Failure.manualLinkingDisabled }
    let bearer = try await service.bearers.require(request, now: exchange.startedAt)
    let parameters = try request.parameters
    let flows = service.flows
    let asked = try AuthorizeRequest(parameters, flows, auth: service.auth)
    guard let flows else { throw Failure.noWebClient }
    let skips = parameters["skip_http_redirect"] == "true"
    let (url, _) = try await flows.begin(asked, linking: bearer.session.id, browser: nil)
    return skips ? .json(["url": .string(url)]) : HTTPResponse(status: 302, fields: ["location": url])
  }
}
