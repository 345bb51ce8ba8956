/// Keys of operators: opaque, kept as SHA-256 alone (RULES §6.1). Each method is one atomic step. Times are
/// milliseconds since 1970.
package protocol AdminKeyStore: Sendable {
  /// False where the name is taken.
  func createAdminKey(name: String, hash: [UInt8], now: Int64) async throws -> Bool
  /// False where there is none of that name.
  func revokeAdminKey(name: String) async throws -> Bool
  /// By name.
  func adminKeys() async throws -> [ListedAdminKey]
  /// The name of the key with that hash; nil where there is none.
  func adminKey(hash: [UInt8]) async throws -> String?
}

/// A key of an operator without what it is known by.
package struct ListedAdminKey: Sendable, Equatable {
  package var name: String
  package var createdAt: Int64

  package init(name: String, createdAt: Int64) {
    self.name = name
    self.createdAt = createdAt
  }
}
