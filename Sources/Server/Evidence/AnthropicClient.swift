import Cryptography

/// An app that speaks Anthropic's App Attest flow, as `ClaudeForFoundationModels` does, by the client id that it was
/// built with (RULES §1.11).
struct AnthropicClient: Sendable, Equatable {
  let id: String
  /// App ID prefix, a dot and the bundle id.
  let appID: String

  /// What the device attests at registration: the challenge alone.
  static func registrationHash(_ challenge: [UInt8]) -> [UInt8] { SHA256.hash(challenge) }

  /// What the device signs for a token. The challenge and the key id have 32 octets each, so that the client id
  /// between them has one reading.
  func tokenHash(_ challenge: [UInt8], keyID: [UInt8]) -> [UInt8] {
    SHA256.hash(Array("anthropic-app-attest-token-v1".utf8) + challenge + id.utf8 + keyID)
  }

  /// Whether it can be a client id: 1 to 128 letters, digits, `_`, `-` and `.`.
  static func isID(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
          || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E
      }
  }
}
