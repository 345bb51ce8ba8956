import Cryptography
import Encodings

/// Makes and checks challenges without keeping them: `secret id 1 ‖ purpose 1 ‖ expiry 8 ‖ random 16 ‖ MAC 16`
/// (RULES §1.4). The MAC is HMAC-SHA256 cut to 16 octets, under a key of the purpose's own.
package struct ChallengeAuthority: Sendable {
  private struct MACKey {
    let id: UInt8
    let purpose: ChallengePurpose
    let key: [UInt8]
  }

  private static let signedLength = 26

  private let keys: [MACKey]

  /// The authority of these secrets: the first makes new challenges, all are honoured.
  package init(secrets: [ChallengeSecret]) {
    keys = secrets.flatMap { secret in
      ChallengePurpose.allCases.map { purpose in
        MACKey(
          id: secret.id, purpose: purpose, key: HKDFSHA256.derive(secret: secret.secret, label: purpose.label)
        )
      }
    }
  }

  /// A fresh challenge; nil without a secret, or when `random` is not 16 octets.
  ///
  /// - Parameter now: seconds since 1970.
  package func mint(purpose: ChallengePurpose, random: [UInt8], now: Int64) -> Challenge? {
    guard let key = keys.first(where: { $0.purpose == purpose }), random.count == Challenge.randomLength
    else { return nil }
    let expiry = now + Challenge.lifetime
    var bytes = [key.id, purpose.rawValue]
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: expiry >> Int64(shift)))
    }
    bytes += random
    bytes += Self.code(for: bytes, key: key.key)
    return Challenge(bytes: bytes, purpose: purpose, expiry: expiry, random: random)
  }

  /// The challenge that `text` spells in base64, if one of ours made it for that purpose and it still holds.
  ///
  /// - Parameter now: seconds since 1970.
  package func verify(
    _ text: String, purpose: ChallengePurpose, now: Int64
  ) throws(ChallengeError) -> Challenge {
    guard text.utf8.count <= 2 * Challenge.length, let bytes = Base64.decode(text) else { throw .malformed }
    return try verify(bytes, purpose: purpose, now: now)
  }

  /// The same for decoded octets.
  package func verify(
    _ bytes: [UInt8], purpose: ChallengePurpose, now: Int64
  ) throws(ChallengeError) -> Challenge {
    guard bytes.count == Challenge.length else { throw .malformed }
    guard let key = keys.first(where: { $0.id == bytes[0] && $0.purpose.rawValue == bytes[1] }) else {
      throw ChallengePurpose(rawValue: bytes[1]) == nil ? .malformed : .unknownSecret
    }
    let code = Self.code(for: Array(bytes[..<Self.signedLength]), key: key.key)
    guard ConstantTime.equal(code, Array(bytes[Self.signedLength...])) else { throw .unauthentic }
    guard key.purpose == purpose else { throw .wrongPurpose }
    let expiry = bytes[2..<10].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    guard expiry > now else { throw .expired }
    return Challenge(bytes: bytes, purpose: purpose, expiry: expiry, random: Array(bytes[10..<26]))
  }

  private static func code(for bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    Array(HMACSHA256.code(for: bytes, key: key).prefix(16))
  }
}
