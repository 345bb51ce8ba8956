import Accounts
import BramleyAPI
import HTTPMessages
import UserData

/// Users' objects for their users, as Supabase Storage's clients ask for them. Every route takes an access token, and
/// knows the objects of its user alone.
struct ObjectRoutes: Sendable {
  private let store: any ObjectStore
  private let bearers: BearerCheck

  /// nil where nobody signs in or no objects are kept.
  init?(_ environment: Environment, _ bearers: BearerCheck?) {
    guard let store = environment.objects, let bearers else { return nil }
    self.store = store
    self.bearers = bearers
  }

  var all: [any Endpoint] {
    [
      ObjectRoute(path: StorageTargets.object, store: store, bearers: bearers),
      ObjectRoute(path: StorageTargets.authenticatedObject, store: store, bearers: bearers),
      ObjectInformationRoute(store: store, bearers: bearers), ObjectListRoute(store: store, bearers: bearers),
      ObjectRemovalRoute(store: store, bearers: bearers),
      ObjectsRemovalRoute(store: store, bearers: bearers),
    ]
  }
}

extension ObjectStore {
  /// The object of the request's bearer that its path names. Throws a ``Failure``: an object of somebody else is as
  /// good as none.
  func object(
    of request: HTTPRequest, _ exchange: Exchange, _ bearers: BearerCheck
  ) async throws -> StoredObject {
    let user = try await bearers.require(request, now: exchange.startedAt).user
    let found = try await storage { () -> StoredObject? in
      guard let path = exchange.parameter.flatMap({ ObjectPath($0) }) else { return nil }
      return try await object(path, in: StorageTargets.functionBucket, of: user.id)
    }
    guard let found else { throw Failure.objectNotFound }
    return found
  }
}

extension Failure {
  static let objectNotFound = Failure(404, .objectNotFound, "Object not found")
}
