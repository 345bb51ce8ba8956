import Accounts
import BramleyAPI
import Encodings
import HTTPMessages
import SignInWithApple

/// `DELETE /auth/v1/user` {`authorization_code`?, `client_id`?, `operation_id`?}: deletes the bearer's account
/// (RULES §4). Asked again, by the same access token or the same operation id, it tells what became of it.
struct AccountDeletionRoute: Endpoint {
  let method = HTTPMethod.delete
  let path = AccountTargets.user
  let service: AccountService

  private var deletions: any DeletionStore { service.ports.deletions }

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request, isOptional: true)
    let asked = try Asked(body, service)
    let now = service.environment.now()
    let claim = try await service.bearers.claim(request, now: now)
    if let known = try await known(claim, asked, now: now) { return DeletionAnswer.answer(known) }
    do {
      return try await delete(request, asked, from: exchange.origin(), now: now)
    } catch let failure as Failure
      where [.deletionInProgress, .sessionNotFound, .userNotFound].contains(failure.code)
    {
      // Another request of the same user was faster.
      if let known = try await known(claim, asked, now: now) { return DeletionAnswer.answer(known) }
      throw failure
    }
  }

  private func delete(
    _ request: HTTPRequest, _ asked: Asked, from origin: RequestOrigin, now: Int64
  ) async throws -> HTTPResponse {
    let bearer = try await service.bearers.require(request, now: now)
    try bearer.requireFresh(maximumAge: service.auth.stepUpMaximumAge, now: now)
    let fresh = try await exchanged(asked, of: bearer.user)
    let started = try await storage {
      try await service.deletion.start(
        user: bearer.user.id, operation: asked.operation ?? service.deletion.fresh(), origin: origin,
        proof: .session(bearer.session.id, maxAge: service.auth.stepUpMaximumAge), fresh: fresh)
    }
    switch started {
    case .success(let ending): return try DeletionAnswer.answer(ending)
    case .failure(let refusal):
      switch refusal {
      // The code is used up, and what it brought is good for the next time; or the account is gone meanwhile, and this
      // consent is to end with the others.
      case .blocked, .sessionNotFound, .userNotFound:
        await service.apple?.exchange.keep(fresh, of: bearer.user.id)
      default: break
      }
      throw Failure.refused(refusal)
    }
  }

  /// What the body asks for.
  private struct Asked {
    let operation: OperationID?
    let code: String?
    /// Whose the code is.
    let clientID: String?

    init(_ body: AccountBody, _ service: AccountService) throws(Failure) {
      let name = try body.text("operation_id")
      operation = name.flatMap { OperationID($0) }
      if name != nil, operation == nil {
        throw .validation("operation_id is 128 random bits, as 32 hexadecimal digits")
      }
      code = try body.text("authorization_code")
      guard let code else {
        clientID = nil
        return
      }
      guard code.utf8.count <= 2_048 else { throw .validation("authorization_code is too long") }
      let clients = service.apple?.apple.clients.filter { $0.kind == .native } ?? []
      let named = try body.text("client_id")
      clientID = named ?? clients.first?.clientID
      if let named, !clients.contains(where: { $0.clientID == named }) {
        throw .validation("client_id is no native client of the server's configuration")
      }
    }
  }

  /// The deletion that was asked for before, where it runs or is done; from now on it is known by this request's
  /// operation id as well, so that whoever is told of it can ask on.
  private func known(_ claim: BearerCheck.Claim, _ asked: Asked, now: Int64) async throws -> Deletion? {
    try await storage {
      guard let found = try await found(claim, asked.operation, now: now) else { return nil }
      if let operation = asked.operation { try await deletions.name(found.id, operation) }
      return found
    }
  }

  /// An expired token may learn of it, and no more (RULES §4.2).
  private func found(
    _ claim: BearerCheck.Claim, _ operation: OperationID?, now: Int64
  ) async throws -> Deletion? {
    if let operation, let named = try await deletions.deletion(.operation(operation)) {
      guard named.user == claim.user else { throw Failure.refused(DeletionRefusal.operationTaken) }
      if named.state != .kept { return named }
    }
    guard let last = try await deletions.deletion(.user(claim.user)), last.state != .kept,
      DeletionAnswer.isRemembered(last, now: now)
    else { return nil }
    if last.state.isRunning { return last }
    // An operator may have made a user of that id again.
    return try await service.ports.users.user(claim.user) == nil ? last : nil
  }

  /// What the code is exchanged for, before anything is begun; nil where there is none, or where the tokens that are
  /// kept for the user do without.
  private func exchanged(_ asked: Asked, of user: User) async throws -> SealedAppleToken? {
    guard let code = asked.code, let clientID = asked.clientID, let exchange = service.apple?.exchange else {
      return nil
    }
    let token: SealedAppleToken?
    do {
      token = try await exchange.exchangeToEnd(code: code, clientID: clientID)
    } catch let refusal as AppleRefusal {
      let kept = try await storage { try await service.ports.appleTokens.tokens(of: user.id) }
      var retryAfter: Int64?
      switch refusal {
      case .invalidGrant:
        // Of a request that was answered too late, perhaps: then what it brought is kept.
        if kept.isEmpty { throw Failure.authorizationCodeInvalid }
        return nil
      case .retryable(_, let seconds): retryAfter = seconds
      case .configuration, .suspect, .noAnswer: break
      }
      if service.auth.deletionPolicy == .eventual, !kept.isEmpty { return nil }
      throw Failure.revocationFailed(refusal.description, retryAfter: retryAfter)
    }
    guard let token else { return nil }
    // Judged once more where it begins.
    let isLinked = user.identities.contains {
      $0.provider == "apple" && $0.teamID == token.teamID && $0.subject == token.subject
    }
    guard isLinked else { throw Failure.appleAccountMismatch }
    return token
  }
}
