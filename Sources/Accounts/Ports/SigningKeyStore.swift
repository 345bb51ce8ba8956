/// The keys that access tokens are signed with, and the secret that refresh tokens are derived from; all nodes
/// share them. Each method is one atomic step. Times are milliseconds since 1970.
package protocol SigningKeyStore: Sendable {
  /// Every key that is published at `now`; makes `fresh` the first one when there is none (insert-or-reuse).
  func signingKeys(fresh: StoredSigningKey, now: Int64) async throws -> [StoredSigningKey]
  /// Adds `next`, which signs from its `activeFrom` on; the key `newest`, which signs until then, is published
  /// until `keepUntil`. Forgets those whose time is over. False, and nothing changed, when another node added
  /// one since `newest` was read.
  func rotate(to next: StoredSigningKey, after newest: String, keepUntil: Int64, now: Int64) async throws
    -> Bool
  /// The secrets of refresh tokens, newest first; `fresh` becomes the first when there is none.
  func refreshSecrets(fresh: StoredRefreshSecret) async throws -> [StoredRefreshSecret]
  /// The secret of ``PersonNames``; `fresh`, 32 octets, becomes it where there is none. It never changes: counters
  /// are found by it.
  func personSecret(fresh: [UInt8]) async throws -> [UInt8]
}

/// A P-256 signing key. Its private half is sealed where the configuration names a sealing key.
package struct StoredSigningKey: Sendable, Equatable {
  /// RFC 7638 thumbprint.
  package var kid: String
  /// Names the key that sealed it; nil for one that is stored as it is.
  package var sealingKey: String?
  /// The scalar, 32 octets, or its ciphertext.
  package var material: [UInt8]
  /// From when on it signs: at least 10 minutes after it was published.
  package var activeFrom: Int64
  /// Until when it is published: one token lifetime after the next key took over; nil for the newest.
  package var publishedUntil: Int64?

  package init(
    kid: String, sealingKey: String? = nil, material: [UInt8], activeFrom: Int64,
    publishedUntil: Int64? = nil
  ) {
    self.kid = kid
    self.sealingKey = sealingKey
    self.material = material
    self.activeFrom = activeFrom
    self.publishedUntil = publishedUntil
  }
}

/// A secret of refresh tokens as it is kept, sealed where the configuration names a sealing key.
package struct StoredRefreshSecret: Sendable, Equatable {
  /// Stands in the token; 0 for one that is not stored yet.
  package var id: UInt8
  /// Names the key that sealed it; nil for one that is stored as it is.
  package var sealingKey: String?
  /// The secret, 32 octets, or its ciphertext.
  package var material: [UInt8]

  package init(id: UInt8 = 0, sealingKey: String? = nil, material: [UInt8]) {
    self.id = id
    self.sealingKey = sealingKey
    self.material = material
  }
}

/// A secret of 32 octets, never used but through HKDF with a label of the use.
package struct RefreshSecret: Sendable, Equatable {
  /// Stands in the token.
  package var id: UInt8
  package var secret: [UInt8]

  package init(id: UInt8, secret: [UInt8]) {
    self.id = id
    self.secret = secret
  }
}
