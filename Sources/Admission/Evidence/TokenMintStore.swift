package import AppAttest

/// Keys whose apps speak Anthropic's flow, in which a registration gives the first token (RULES §1.11).
package protocol TokenMintStore: Sendable {
  /// How many tokens the key has minted in that flow; 0 for a key that is not known.
  func mints(of keyID: [UInt8]) async throws -> Int64
  /// Whether there is such a key, a revoked or banned one included.
  func isKnown(_ keyID: [UInt8]) async throws -> Bool
  /// Keeps a key that is not known, with its receipt and its first token: both or nothing. A key that is known is
  /// left as it is, and gets no token. What comes of it is written to the audit log, with the client's address.
  func register(
    _ key: DeviceKey, receipt: [UInt8], token: SessionToken, from address: String?
  ) async throws -> RegistrationOutcome
}
