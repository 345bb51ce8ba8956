/// Why authenticator data is refused.
package enum AuthenticatorDataError: Error, Equatable, Sendable {
  /// The octets end too early.
  case truncated
  /// An attestation without attested credential data.
  case attestedDataMissing
  /// The credential id is not of 32 octets.
  case credentialIDLength
  /// The key is no CBOR.
  case publicKey(CBORError)
  /// The key is no EC2 key for ES256 on P-256.
  case unexpectedPublicKey
  /// The flags promise extensions, and nothing follows.
  case extensionsMissing
  /// What follows is no CBOR.
  case extensions(CBORError)
  /// What follows is no map, or a value in it is of another type than its name has.
  case unexpectedExtension
}

/// Authenticator data (WebAuthn §6.1) with App Attest's own rules, in which real devices differ from WebAuthn:
/// assertions have the AT flag set and no attested data, and extensions come with and without the ED flag.
package struct AuthenticatorData: Sendable, Equatable {
  /// What an attestation says of its key.
  package struct AttestedKey: Sendable, Equatable {
    /// 16 octets.
    package let aaguid: [UInt8]
    /// 32 octets.
    package let credentialID: [UInt8]
    /// The X9.63 uncompressed point of the COSE key, 65 octets.
    package let publicKey: [UInt8]

    /// The environment that the AAGUID names, all 16 octets of it; nil for another AAGUID.
    package var environment: AttestEnvironment? {
      AttestEnvironment.allCases.first { $0.aaguid == aaguid }
    }
  }

  /// SHA-256 of the app id, 32 octets.
  package let rpIDHash: [UInt8]
  /// The flags as they stand; AT and ED are not to be relied on.
  package let flags: UInt8
  /// How often the key has signed.
  package let counter: UInt32
  /// In an attestation alone.
  package let attestedKey: AttestedKey?
  /// Where the OS writes them (27 and later).
  package let extensions: DeviceExtensions?

  private static let extensionFlag: UInt8 = 0x80
  private static let headLength = 37

  /// Reads the authenticator data of an attestation, to its last octet.
  package static func attestation(
    _ bytes: ArraySlice<UInt8>
  ) throws(AuthenticatorDataError) -> AuthenticatorData {
    let head = try Head(bytes)
    guard !head.rest.isEmpty else { throw .attestedDataMissing }
    let (key, rest) = try attestedKey(head.rest)
    return AuthenticatorData(head, key, try extensions(rest, flags: head.flags))
  }

  /// Reads the authenticator data of an assertion, to its last octet: the AT flag is ignored, and whatever
  /// follows the counter is the extension map.
  package static func assertion(
    _ bytes: ArraySlice<UInt8>
  ) throws(AuthenticatorDataError) -> AuthenticatorData {
    let head = try Head(bytes)
    return AuthenticatorData(head, nil, try extensions(head.rest, flags: head.flags))
  }

  private init(_ head: Head, _ key: AttestedKey?, _ extensions: DeviceExtensions?) {
    rpIDHash = Array(head.rpIDHash)
    flags = head.flags
    counter = head.counter
    attestedKey = key
    self.extensions = extensions
  }

  /// What both kinds begin with.
  private struct Head {
    let rpIDHash: ArraySlice<UInt8>
    let flags: UInt8
    let counter: UInt32
    let rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) {
      guard bytes.count >= headLength else { throw .truncated }
      let start = bytes.startIndex
      rpIDHash = bytes.prefix(32)
      flags = bytes[start + 32]
      counter = bytes[start + 33..<start + headLength].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      rest = bytes.dropFirst(headLength)
    }
  }

  private static func attestedKey(
    _ bytes: ArraySlice<UInt8>
  ) throws(AuthenticatorDataError) -> (AttestedKey, rest: ArraySlice<UInt8>) {
    guard bytes.count >= 18 else { throw .truncated }
    let start = bytes.startIndex
    guard bytes[start + 16] == 0, bytes[start + 17] == 32 else { throw .credentialIDLength }
    guard bytes.count >= 50 else { throw .truncated }
    var reader = CBORReader(bytes.dropFirst(50))
    let key: CBORValue
    do throws(CBORError) { key = try reader.next() } catch { throw .publicKey(error) }
    let attested = AttestedKey(
      aaguid: Array(bytes.prefix(16)), credentialID: Array(bytes[start + 18..<start + 50]),
      publicKey: try point(ofCOSEKey: key))
    return (attested, reader.rest)
  }

  /// The point of a COSE_Key (RFC 9053 §7.1.1): kty EC2, alg ES256, crv P-256, x and y.
  private static func point(ofCOSEKey key: CBORValue) throws(AuthenticatorDataError) -> [UInt8] {
    guard key[.unsigned(1)] == .unsigned(2), key[.unsigned(3)] == .negative(6),
      key[.negative(0)] == .unsigned(1), let x = key[.negative(1)]?.bytes, x.count == 32,
      let y = key[.negative(2)]?.bytes, y.count == 32
    else { throw .unexpectedPublicKey }
    return [4] + x + y
  }

  private static func extensions(
    _ rest: ArraySlice<UInt8>, flags: UInt8
  ) throws(AuthenticatorDataError) -> DeviceExtensions? {
    if rest.isEmpty {
      if flags & extensionFlag != 0 { throw .extensionsMissing }
      return nil
    }
    return try DeviceExtensions(rest)
  }
}

extension AttestEnvironment {
  /// The AAGUID that stands for it, 16 octets.
  package var aaguid: [UInt8] {
    switch self {
    case .development: Array("appattestdevelop".utf8)
    case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
    }
  }
}
