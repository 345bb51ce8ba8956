/// Where the id of the registered key is kept between launches: on Apple's platforms the Keychain of this
/// device alone, since the key does not move to another.
public protocol KeyIDStorage: Sendable {
  /// What was saved; nil when there is nothing. Throws when that cannot be told now: then nothing is registered.
  func load() async throws -> StoredKey?
  /// Replaces what was saved.
  func save(_ key: StoredKey) async throws
}

/// A key that the server accepted.
public struct StoredKey: Sendable, Equatable {
  /// As the device gave it.
  public var keyID: String
  /// When it was registered, seconds since 1970.
  public var registeredAt: Int64

  /// A key.
  public init(keyID: String, registeredAt: Int64) {
    self.keyID = keyID
    self.registeredAt = registeredAt
  }

  /// Reads ``text``; nil for anything else.
  public init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, let registeredAt = Int64(parts[1]) else { return nil }
    self.init(keyID: String(parts[0]), registeredAt: registeredAt)
  }

  /// As one line.
  public var text: String { "\(keyID) \(registeredAt)" }
}

/// Keeps the key's id as long as the process lives.
public actor InMemoryKeyIDStorage: KeyIDStorage {
  private var key: StoredKey?

  /// Holds `key`.
  public init(_ key: StoredKey? = nil) { self.key = key }
  /// What it holds.
  public func load() -> StoredKey? { key }
  /// Holds `key` from now on.
  public func save(_ key: StoredKey) { self.key = key }
}
