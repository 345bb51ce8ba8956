import Accounts
import BramleyAPI
import Encodings
import HTTPMessages
import UserData

/// `DELETE /storage/v1/object/…`: removes an object of the bearer's user.
struct ObjectRemovalRoute: Endpoint {
  let method = HTTPMethod.delete
  let path = StorageTargets.object
  let store: any ObjectStore
  let bearers: BearerCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let object = try await store.object(of: request, exchange, bearers)
    let removed = try await storage {
      try await store.remove([object.path], in: object.bucket, of: object.user)
    }
    guard !removed.isEmpty else { throw Failure.objectNotFound }
    return .json(["message": "Successfully deleted"])
  }
}

/// `DELETE /storage/v1/object/{bucket}` {`prefixes`}: removes the bearer's objects of these paths, and tells which were
/// there.
struct ObjectsRemovalRoute: Endpoint {
  private static let limit = 1_000

  let method = HTTPMethod.delete
  let path = StorageTargets.bucket
  let store: any ObjectStore
  let bearers: BearerCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let user = try await bearers.require(request, now: exchange.startedAt).user
    let texts = try await AccountBody(of: request)["prefixes"]?.elements?.map(\.string) ?? [nil]
    guard texts.count <= Self.limit, !texts.contains(nil) else {
      throw Failure.validation("prefixes is a list of at most \(Self.limit) paths")
    }
    let paths = texts.compactMap { $0.flatMap { ObjectPath($0) } }
    let removed = try await storage {
      try await store.remove(paths, in: StorageTargets.functionBucket, of: user.id)
    }
    return .json(.array(removed.map { ObjectEntry.file($0, name: $0.path.description).json }))
  }
}
