import COpenSSL

/// Comparison of secrets.
package enum ConstantTime {
  /// Whether both hold the same octets, in a time that depends on their lengths alone.
  package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { first in
      unsafe right.withUnsafeBytes { second in
        unsafe CRYPTO_memcmp(first.baseAddress, second.baseAddress, first.count) == 0
      }
    }
  }
}
