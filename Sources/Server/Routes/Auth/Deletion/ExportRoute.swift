import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /auth/v1/user/export`: everything that is held about the bearer's user, as one JSON without secrets. It is
/// sensitive: it wants a fresh sign-in (RULES §3.2).
struct ExportRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.export
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let now = service.environment.now()
    let bearer = try await service.bearers.require(request, now: now)
    try bearer.requireFresh(maximumAge: service.auth.stepUpMaximumAge, now: now)
    let user = bearer.user
    let held = try await storage { try await service.ports.users.held(about: user.id) }
    var owned: [(String, JSONValue)] = []
    for data in service.ports.owned {
      owned.append((data.name, try await storage { try await data.export(of: user.id) }))
    }
    var members: [(String, JSONValue)] = [("exported_at", .time(now)), ("user", user.json)]
    if let email = user.realEmail { members.append(("real_email", .string(email))) }
    members += [("held", held), ("owned", .object(owned))]
    // Years of sessions are megabytes of text.
    let everything = JSONValue.object(members)
    var response = await service.environment.offload { HTTPResponse.json(everything) }
    response.fields["content-disposition"] = #"attachment; filename="account.json""#
    return response
  }
}
