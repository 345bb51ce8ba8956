import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `DELETE /auth/v1/user/identities/{id}`: unlinks an identity, never the last.
struct IdentityRoute: Endpoint {
  let method = HTTPMethod.delete
  let path = AccountTargets.identity
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard service.auth.manualLinking else { throw Failure.manualLinkingDisabled }
    let now = exchange.startedAt
    let bearer = try await service.bearers.require(request, now: now)
    guard let identity = exchange.parameter.flatMap({ UUID($0) }) else {
      throw Failure.validation("identity_id must be an UUID", status: 404)
    }
    if bearer.user.identities.count <= 1 { throw Failure.lastIdentity }
    try bearer.requireFresh(maximumAge: service.auth.stepUpMaximumAge, now: now)
    let outcome = try await storage {
      try await service.ports.users.unlink(identity, of: bearer.user.id, by: exchange.origin(), now: now)
    }
    switch outcome {
    case .unlinked: return .json(.object([]))
    case .notFound: throw Failure(422, .identityNotFound, "Identity doesn't exist")
    case .lastIdentity: throw Failure.lastIdentity
    case .deleting: throw Failure.deletionInProgress
    }
  }
}

extension Failure {
  static let lastIdentity = Failure(
    422, .singleIdentityNotDeletable, "User must have at least 1 identity after unlinking")
}
