import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// How a deletion is told of (RULES §4.1, §4.2).
enum DeletionAnswer {
  /// Where users end a consent themselves; Apple asks that apps point there when they cannot (TN3194).
  static let byHand = "https://support.apple.com/102571"

  /// `deleted`, `deletion_pending` or `not_deleted`.
  static func state(_ deletion: Deletion) -> JSONValue {
    switch deletion.state {
    case .open, .committed: "deletion_pending"
    case .kept: "not_deleted"
    case .deleted: "deleted"
    }
  }

  /// 200 for a deleted account, 202 while it goes on, or a ``Failure``.
  static func answer(_ ending: AccountDeletion.Ending) throws -> HTTPResponse {
    switch ending {
    case .going(let deletion): return answer(deletion)
    case .blocked(let what): throw Failure.deletionBlocked(what)
    case .kept(let deletion, let retryAfter):
      throw Failure.revocationFailed(deletion.failure ?? "Apple", retryAfter: retryAfter)
    }
  }

  static func answer(_ deletion: Deletion) -> HTTPResponse {
    var members: [(String, JSONValue)] = [
      ("state", state(deletion)), ("operation_id", .string(deletion.operation.description)),
    ]
    guard deletion.state == .deleted else {
      var response = HTTPResponse.json(.object(members), status: 202)
      response.fields["retry-after"] = "5"
      return response
    }
    members.append(("apple_consent", .string(deletion.revocation.rawValue)))
    if deletion.revocation == .byHand { members.append(("end_consent_at", .string(byHand))) }
    return .json(.object(members))
  }

  /// Whether it may still be asked about.
  static func isRemembered(_ deletion: Deletion, now: Int64) -> Bool {
    deletion.closedAt.map { now < $0 + DeletionRule.memory } ?? true
  }
}

/// `GET /auth/v1/deletions/{operation_id}`: how far a deletion is, and nothing else, without a bearer for 30 days
/// (RULES §4.2).
struct DeletionRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.deletion
  let service: AccountService
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    if let wait = await limiter.admit(exchange.address, now: service.environment.uptime()) {
      throw Failure.overRequestRateLimit(nanoseconds: wait)
    }
    guard let operation = exchange.parameter.flatMap({ OperationID($0) }) else {
      throw Failure.deletionNotFound
    }
    let found = try await storage { try await deletion(of: operation) }
    guard let found, DeletionAnswer.isRemembered(found, now: service.environment.now()) else {
      throw Failure.deletionNotFound
    }
    return .json(["state": DeletionAnswer.state(found)])
  }

  /// What the operation id names. Of an account that was kept then and is deleted since, the later deletion: that is
  /// what whoever asks under the same id again is told as well.
  private func deletion(of operation: OperationID) async throws -> Deletion? {
    let deletions = service.ports.deletions
    let named = try await deletions.deletion(.operation(operation))
    guard let named, named.state == .kept else { return named }
    return try await deletions.deletion(.user(named.user)) ?? named
  }
}
