/// HKDF with SHA-256 (RFC 5869): a key of its own for every use, from one secret.
package enum HKDFSHA256 {
  /// `length` octets (at most 8,160) for the use that `info` names; without `salt`, a salt of zeros.
  package static func derive(secret: [UInt8], salt: [UInt8] = [], info: [UInt8], length: Int) -> [UInt8] {
    precondition((0...255 * SHA256.length).contains(length), "HKDF gives at most 255 blocks")
    let pseudorandomKey = HMACSHA256.code(for: secret, key: salt)
    var out: [UInt8] = []
    var block: [UInt8] = []
    var counter: UInt8 = 1
    while out.count < length {
      block = HMACSHA256.code(for: block + info + [counter], key: pseudorandomKey)
      out += block
      counter &+= 1
    }
    return Array(out.prefix(length))
  }

  /// `length` octets for the use that `label` names.
  package static func derive(secret: [UInt8], label: String, length: Int = 32) -> [UInt8] {
    derive(secret: secret, info: Array(label.utf8), length: length)
  }
}
