import Cryptography
import Encodings

/// A secret that signs what is sent (Standard Webhooks, "Signature scheme"): `whsec_` and 24 to 64 octets in base64.
/// Supabase writes `v1,` before it.
package struct WebhookSecret: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  private let key: [UInt8]

  /// Nil for anything else.
  package init?(_ text: some StringProtocol) {
    var text = text[...]
    if text.hasPrefix("v1,") { text = text.dropFirst(3) }
    guard text.hasPrefix("whsec_"), let key = Base64.decode(text.dropFirst(6)), 24...64 ~= key.count else {
      return nil
    }
    self.key = key
  }

  /// Several, parted by `|`, as Supabase has them: each signs, so that a receiver may change over in its own time.
  package static func list(_ text: String) -> [WebhookSecret]? {
    let parts = text.split(separator: "|", omittingEmptySubsequences: false)
    let secrets = parts.compactMap { WebhookSecret($0) }
    return secrets.count == parts.count && 1...4 ~= secrets.count ? secrets : nil
  }

  /// `v1,` and the HMAC-SHA256 of id, time and body, joined by dots, in base64.
  package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
    let mac = HMACSHA256.code(for: Array("\(id).\(timestamp).".utf8) + body, key: key)
    return "v1," + Base64.encode(mac)
  }

  package var description: String { "[secret]" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
