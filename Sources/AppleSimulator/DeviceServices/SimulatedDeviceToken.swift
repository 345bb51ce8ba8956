import Cryptography
import Encodings

/// What a device gives its app for DeviceCheck: opaque there, and here the device's name under the authority's
/// signature.
struct SimulatedDeviceToken {
  /// 16 octets.
  var device: [UInt8]
  var isProduction: Bool
  /// Seconds since 1970.
  var issuedAt: Int64

  /// How long it holds, seconds; Apple's are said to hold for about half of that.
  static let life: Int64 = 60
  private static let tag = Array("bramley-simulated-device-token".utf8)

  func text(_ authority: SimulatedAppleCA) throws(SimulatorError) -> String {
    let time = (0..<8).map { UInt8(truncatingIfNeeded: issuedAt >> (56 - 8 * $0)) }
    let content = device + [isProduction ? 1 : 0] + time + SecureRandom.bytes(16)
    return Base64.encode(content + (try authority.signReceipt(Self.tag + content)))
  }

  init(device: [UInt8], isProduction: Bool, issuedAt: Int64) {
    self.device = device
    self.isProduction = isProduction
    self.issuedAt = issuedAt
  }

  /// nil for what is no token of this authority's devices.
  init?(_ text: String, _ authority: SimulatedAppleCA) {
    guard let octets = Base64.decode(text), octets.count > 41,
      let signer = authority.receiptChain.first.flatMap({ try? Certificate(der: $0) }),
      let point = signer.publicKeyPoint, let key = try? P256.PublicKey(point: point),
      key.isValid(signature: Array(octets[41...]), for: Self.tag + octets[..<41])
    else { return nil }
    device = Array(octets[..<16])
    isProduction = octets[16] == 1
    issuedAt = octets[17..<25].reduce(0) { $0 << 8 | Int64($1) }
  }
}
