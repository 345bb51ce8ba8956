import Accounts
package import Encodings
package import UserData

/// Users' objects as a part of every deletion and every export.
package struct OwnedObjects: OwnedData {
  package let name = "objects"
  private let store: any ObjectStore

  package init(_ store: any ObjectStore) { self.store = store }

  /// Where each is and what it is; its content is downloaded.
  package func export(of user: UUID) async throws -> JSONValue {
    .array(try await store.all(of: user).map(\.json))
  }

  package func erase(of user: UUID) async throws { _ = try await store.erase(of: user) }
}

extension ObjectStore {
  /// Every object of the user's.
  func all(of user: UUID) async throws -> [StoredObject] {
    var all: [StoredObject] = []
    while case let page = try await objects(of: user, after: all.last, limit: 500), !page.isEmpty {
      all += page
    }
    return all
  }
}

extension StoredObject {
  /// As it is told to its user.
  var json: JSONValue {
    [
      "bucket": .string(bucket), "path": .string(path.description),
      "content_type": .string(contentType.rawValue), "bytes": .integer(size), "created_at": .time(createdAt),
    ]
  }
}
