import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /auth/v1/admin/users/{id}`
struct UserShowRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.adminUser
  let service: AccountService
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    _ = try await operators.require(request)
    let id = try exchange.userParameter
    guard let user = try await storage({ try await service.ports.users.user(id) }) else {
      throw Failure.userNotFound
    }
    return .json(user.json)
  }
}

/// `PUT /auth/v1/admin/users/{id}`: metadata, an e-mail address, a ban.
struct UserUpdateRoute: Endpoint {
  let method = HTTPMethod.put
  let path = AccountTargets.adminUser
  let service: AccountService
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let name = try await operators.require(request)
    let id = try exchange.userParameter
    let body = try await AccountBody(of: request)
    let now = service.environment.now()
    let facts = try AdministeredUser(body)
    let change = UserChange(
      userMetadata: facts.userMetadata, appMetadata: facts.appMetadata,
      bannedUntil: facts.ban.map { $0.end(now: now) }, email: facts.email,
      confirmsEmail: facts.isEmailConfirmed)
    let result = try await storage {
      try await service.ports.users.update(id, change, by: exchange.origin(.operator(key: name)), now: now)
    }
    switch result {
    case .success(let user)?:
      service.log.info("user_updated", by: name, user: id, exchange)
      return .json(user.json)
    case .failure(let refusal)?: throw Failure.refused(refusal)
    case nil: throw Failure.userNotFound
    }
  }
}

/// `POST /auth/v1/admin/users`: a user, perhaps with an id of the operator's choice, and without an address
/// where there is none.
struct UserCreateRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.adminUsers
  let service: AccountService
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let name = try await operators.require(request)
    let body = try await AccountBody(of: request)
    let facts = try AdministeredUser(body)
    let now = service.environment.now()
    var id = try service.identifier()
    if let text = try body.text("id") {
      guard let given = UUID(text) else { throw Failure.validation("ID must conform to the uuid v4 format") }
      id = given
    }
    let metadata = Metadata.object(facts.userMetadata ?? .object([]))
    guard Metadata.fits(metadata) else { throw Failure.metadataTooLarge(limit: Metadata.limit) }
    let user = User(
      id: id, isAnonymous: false, email: facts.email,
      emailConfirmedAt: facts.email != nil && facts.isEmailConfirmed ? now : nil,
      appMetadata: Metadata.object(facts.appMetadata ?? .object([])), userMetadata: metadata, createdAt: now,
      updatedAt: now, bannedUntil: facts.ban?.end(now: now))
    guard user.fitsToken else { throw Failure.tokenTooLarge }
    switch try await storage({
      try await service.ports.users.create(user, by: exchange.origin(.operator(key: name)))
    }) {
    case .created(let user):
      service.log.info("user_created", by: name, user: id, exchange)
      return .json(user.json)
    case .idTaken: throw Failure(422, .userAlreadyExists, "A user with this id exists already")
    case .idDeleted:
      throw Failure(422, .userAlreadyExists, "A user with this id was deleted: choose another one, or none")
    case .emailTaken: throw Failure.refused(UserChangeRefusal.emailTaken)
    }
  }
}

/// `DELETE /auth/v1/admin/users/{id}`: everything that hangs on the user goes with it, and Apple is told as when the
/// user asks themself.
struct UserDeleteRoute: Endpoint {
  let method = HTTPMethod.delete
  let path = AccountTargets.adminUser
  let service: AccountService
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let name = try await operators.require(request)
    let id = try exchange.userParameter
    let body = try await AccountBody(of: request, isOptional: true)
    if try body.flag("should_soft_delete") {
      throw Failure.validation("Users are deleted for good: should_soft_delete must be false")
    }
    switch try await storage({
      try await service.deletion.start(
        user: id, origin: exchange.origin(.operator(key: name)))
    }) {
    case .failure(let refusal): throw Failure.refused(refusal)
    case .success(.going(let deletion)) where deletion.state == .deleted:
      service.log.info("user_deleted", by: name, user: id, exchange)
      return .json(.object([]))
    case .success(let ending):
      let response = try DeletionAnswer.answer(ending)
      service.log.info("user_deletion_begun", by: name, user: id, exchange)
      return response
    }
  }
}

extension Exchange {
  /// The user that the path names.
  fileprivate var userParameter: UUID {
    get throws(Failure) {
      guard let id = parameter.flatMap({ UUID($0) }) else {
        throw .validation("user_id must be an UUID", status: 404)
      }
      return id
    }
  }
}

extension ApplicationLog {
  fileprivate func info(_ event: String, by name: String, user: UUID, _ exchange: Exchange) {
    info(
      event,
      [
        ("user", .string(user.description)), ("admin_key", .string(name)),
        ("request_id", .string(exchange.requestID)),
      ])
  }
}
