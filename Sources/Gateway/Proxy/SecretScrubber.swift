/// Takes secrets out of short texts that are shown or logged.
package struct SecretScrubber: Sendable {
  private let secrets: [[UInt8]]

  /// A scrubber of these secrets, and of whatever looks like a provider's key.
  package init(secrets: [[UInt8]]) {
    self.secrets = secrets.filter { $0.count >= SecretFilter.minimumLength }.sorted { $0.count > $1.count }
  }

  /// Whether one of the secrets stands in the text.
  package func holdsSecret(_ text: String) -> Bool {
    let octets = Array(text.utf8)
    return secrets.contains { secret in
      let last = octets.count - secret.count
      return last >= 0
        && (0...last).contains { octets[$0] == secret[0] && octets[$0...].starts(with: secret) }
    }
  }

  /// The text without secrets and without control characters, of at most `limit` octets and the word that
  /// stands for a secret.
  package func scrub(_ text: String, limit: Int = 300) -> String {
    var out: [UInt8] = []
    let octets = Array(text.utf8.prefix(16_384))
    var index = 0
    while index < octets.count, out.count < limit {
      if let length = secretLength(octets, at: index) {
        out.append(contentsOf: "[redacted]".utf8)
        index += length
      } else {
        out.append(octets[index] < 0x20 || octets[index] == 0x7F ? 0x20 : octets[index])
        index += 1
      }
    }
    // A cut inside a character would leave a broken one.
    while let last = out.last, last & 0xC0 == 0x80, index < octets.count { out.removeLast() }
    if let last = out.last, last & 0xC0 == 0xC0, index < octets.count { out.removeLast() }
    return String(decoding: out, as: UTF8.self)
  }

  private func secretLength(_ octets: [UInt8], at index: Int) -> Int? {
    for secret in secrets where octets[index...].starts(with: secret) { return secret.count }
    let marker = Array("sk-".utf8)
    guard octets[index...].starts(with: marker), index == 0 || !isKeyOctet(octets[index - 1]) else {
      return nil
    }
    return octets[index...].prefix { isKeyOctet($0) }.count
  }

  private func isKeyOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
