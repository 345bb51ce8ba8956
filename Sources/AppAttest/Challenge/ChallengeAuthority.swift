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
  /// Those of ``derived(clientID:keyID:mints:now:)``, of the current secret and of the one before.
  private let derivingKeys: [[UInt8]]

  /// The authority of these secrets: the first makes new challenges, all are honoured.
  package init(secrets: [ChallengeSecret]) {
    keys = secrets.flatMap { secret in
      ChallengePurpose.allCases.map { purpose in
        MACKey(
          id: secret.id, purpose: purpose, key: HKDFSHA256.derive(secret: secret.secret, label: purpose.label)
        )
      }
    }
    derivingKeys = secrets.map {
      HKDFSHA256.derive(secret: $0.secret, label: "bramley challenge anthropic v1")
    }
  }

  /// A challenge that nobody keeps and that does not come back: in Anthropic's flow the client signs it and sends the
  /// signature alone (RULES §1.11). It is the same for the same facts, and another once the key has minted a token.
  ///
  /// - Parameters:
  ///   - mints: how many tokens the key has minted.
  ///   - now: seconds since 1970.
  /// - Returns: 32 octets, and for how many seconds they hold: more than 300, at most 600. nil without a secret.
  package func derived(
    clientID: String, keyID: [UInt8], mints: Int64, now: Int64
  ) -> (challenge: [UInt8], expiresIn: Int64)? {
    guard let key = derivingKeys.first else { return nil }
    let slot = now / Self.slotLength
    return (
      Self.derive(clientID, keyID, mints, slot: slot, key: key), (slot + 2) * Self.slotLength - now
    )
  }

  /// Every challenge that may have been signed: of this slot of time and the one before, by this secret and the one
  /// before.
  package func derivable(clientID: String, keyID: [UInt8], mints: Int64, now: Int64) -> [[UInt8]] {
    let slot = now / Self.slotLength
    return derivingKeys.flatMap { key in
      [slot, slot - 1].map { Self.derive(clientID, keyID, mints, slot: $0, key: key) }
    }
  }

  /// Seconds.
  private static let slotLength: Int64 = 300

  /// What has a fixed length comes first, so that no two facts have the same octets.
  private static func derive(
    _ clientID: String, _ keyID: [UInt8], _ mints: Int64, slot: Int64, key: [UInt8]
  ) -> [UInt8] {
    var facts: [UInt8] = []
    for number in [slot, mints, Int64(keyID.count)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        facts.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
      }
    }
    return HMACSHA256.code(for: facts + keyID + clientID.utf8, key: key)
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
