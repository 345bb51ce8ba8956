import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /auth/v1/user`: the bearer's user.
struct UserRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.user
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    .json(try await service.bearers.require(request, now: exchange.startedAt).user.json)
  }
}

/// `PUT /auth/v1/user`: merges `data` into `user_metadata`; a null removes its member.
struct UserChangeRoute: Endpoint {
  let method = HTTPMethod.put
  let path = AccountTargets.user
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let bearer = try await service.bearers.require(request, now: exchange.startedAt)
    let body = try await AccountBody(of: request)
    if body["app_metadata"] != nil {
      throw Failure(403, .notAdmin, "Updating app_metadata requires admin privileges")
    }
    let email = try body.text("email")?.lowercased()
    if try body.text("password") != nil || email != nil && email != bearer.user.email {
      throw Failure.emailChangesDisabled
    }
    if try body.text("phone") != nil { throw Failure.phoneChangesDisabled }
    guard let data = try body.object("data") else { return .json(bearer.user.json) }
    let change = UserChange(userMetadata: data)
    let now = service.environment.now()
    let result = try await storage {
      try await service.ports.users.update(bearer.user.id, change, by: exchange.origin(), now: now)
    }
    switch result {
    case .success(let user)?: return .json(user.json)
    case .failure(let refusal)?: throw Failure.refused(refusal)
    case nil: throw Failure.sessionNotFound
    }
  }
}

extension Failure {
  static func refused(_ refusal: UserChangeRefusal) -> Failure {
    switch refusal {
    case .metadataTooLarge(limit: AccessTokenClaims.limit): .tokenTooLarge
    case .metadataTooLarge(let limit): .metadataTooLarge(limit: limit)
    case .deleting: .deletionInProgress
    case .emailTaken:
      Failure(422, .emailExists, "A user with this email address has already been registered")
    }
  }
}
