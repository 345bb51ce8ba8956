import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /auth/v1/logout?scope=…`: the one answer without a body that clients expect.
struct LogoutRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.logout
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let now = exchange.startedAt
    let bearer = try await service.bearers.require(request, now: now)
    let text = try request.parameters["scope"] ?? SignOutScope.global.rawValue
    guard let scope = SignOutScope(rawValue: text) else {
      throw Failure.validation("Unsupported logout scope \"\(String(text.prefix(32)))\"")
    }
    // Ending other sessions and keeping one's own is what a thief would want. Who signs out everywhere gives up
    // the session that it was asked with.
    if scope == .others { try bearer.requireFresh(maximumAge: service.auth.stepUpMaximumAge, now: now) }
    let isEnded = try await storage {
      try await service.ports.store.signOut(bearer.session.id, scope, by: exchange.origin(), now: now)
    }
    guard isEnded else { throw Failure.sessionNotFound }
    return HTTPResponse(status: 204)
  }
}
