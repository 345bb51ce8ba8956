import Cryptography

/// Authenticator data as App Attest makes it, part by part, so that each can be made wrong.
struct AuthenticatorData {
  var relyingParty: [UInt8]
  var counter: UInt32
  var extensions: [UInt8]
  /// AT, and ED where the system sets it. AT stands in assertions too, though nothing follows it.
  var flags: UInt8

  init(_ app: SimulatedApp, _ system: SimulatedSystem, counter: UInt32) {
    relyingParty = SHA256.hash(app.id)
    self.counter = counter
    extensions = system.extensions == .absent ? [] : Self.extensions(app, system)
    flags = system.extensions == .flagged ? 0xC0 : 0x40
  }

  /// Of an assertion.
  var assertion: [UInt8] { relyingParty + [flags] + Self.bigEndian(counter) + extensions }

  /// Of an attestation.
  func attestation(environment: [UInt8], credential: [UInt8], point: [UInt8]) -> [UInt8] {
    let count = UInt16(truncatingIfNeeded: credential.count)
    let length = [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)]
    return relyingParty + [flags] + Self.bigEndian(counter) + environment + length + credential
      + Self.key(point) + extensions
  }

  /// The AAGUID of the app's environment.
  static func environment(_ app: SimulatedApp) -> [UInt8] {
    app.distribution == .development
      ? Array("appattestdevelop".utf8) : Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
  }

  /// COSE key (RFC 9053 §7.1.1): EC2, ES256, P-256.
  private static func key(_ point: [UInt8]) -> [UInt8] {
    CBORWriter.map([
      (CBORWriter.unsigned(1), CBORWriter.unsigned(2)), (CBORWriter.unsigned(3), CBORWriter.negative(7)),
      (CBORWriter.negative(1), CBORWriter.unsigned(1)),
      (CBORWriter.negative(2), CBORWriter.bytes(Array(point.dropFirst().prefix(32)))),
      (CBORWriter.negative(3), CBORWriter.bytes(Array(point.dropFirst(33)))),
    ])
  }

  private static func extensions(_ app: SimulatedApp, _ system: SimulatedSystem) -> [UInt8] {
    // Four octets, little endian, though Apple's text speaks of an integer.
    let category = (0..<4).map { UInt8(truncatingIfNeeded: app.distribution.rawValue >> ($0 * 8)) }
    let validation = (CBORWriter.text("apple_validation_category_01"), CBORWriter.bytes(category))
    switch system.platform {
    case .iOS:
      return CBORWriter.map([
        (CBORWriter.text("apple_bundle_version_01"), CBORWriter.text(app.version)), validation,
      ])
    case .macOS:
      return CBORWriter.map([
        (CBORWriter.text("apple_cd_hash_hash_01"), CBORWriter.bytes(SHA256.hash(app.id + app.version))),
        (CBORWriter.text("apple_cd_hash_type_01"), CBORWriter.bytes([2])), validation,
      ])
    }
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }
}
