import BramleyAPI
import HTTPMessages

/// `POST /auth/v1/token?grant_type=…`: tokens. Each grant has a file of its own.
struct GrantRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.token
  let service: AccountService
  let refresh: RefreshGrant
  let identityToken: IdentityTokenGrant
  let code: CodeGrant

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    switch try request.parameters["grant_type"] {
    case "refresh_token": return try await refresh.respond(to: request, &exchange)
    case "id_token": return try await identityToken.respond(to: request, &exchange)
    case "pkce": return try await code.respond(to: request, &exchange)
    case "password":
      let body = try await AccountBody(of: request)
      throw try body.text("phone") == nil ? Failure.emailLoginsDisabled : .phoneLoginsDisabled
    case "web3": throw Failure.web3Disabled
    default: throw Failure(400, .invalidCredentials, "unsupported_grant_type")
    }
  }
}
