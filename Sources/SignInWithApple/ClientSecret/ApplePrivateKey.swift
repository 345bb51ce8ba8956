package import Cryptography
import Encodings

/// Reads the private key that Apple gives to download once (`AuthKey_….p8`), in the spellings that it takes on its
/// way through files, variables and secret stores.
package enum ApplePrivateKey {
  /// Why a text is no such key. Carries nothing of it.
  package enum Mistake: Error, Equatable, Sendable {
    case empty
    /// Beyond 16 KiB.
    case tooLong
    /// Neither armoured nor base64.
    case notBase64
    /// A beginning without an end, or the other way round.
    case unfinished
    /// A certificate, a public key, an encrypted key, …
    case otherKind
    /// A private key, but not of P-256.
    case otherCurve
  }

  /// The key that `text` holds: with line ends of any kind, with `\n` spelled out, on one line, in quotes, as
  /// base64 of the whole file, or the base64 alone without the armour.
  package static func read(_ text: String) throws(Mistake) -> P256.PrivateKey {
    guard text.utf8.count <= 16_384 else { throw .tooLong }
    let plain = unescaped(text)
    if let armoured = try armoured(plain) { return try key(armoured.body, label: armoured.label) }
    let spelled = plain.filter { !isBlank($0) }
    guard !spelled.isEmpty else { throw .empty }
    guard let octets = Base64.decode(spelled) else { throw .notBase64 }
    if let file = String(validating: octets, as: UTF8.self), let armoured = try armoured(unescaped(file)) {
      return try key(armoured.body, label: armoured.label)
    }
    return try key(octets, label: "PRIVATE KEY")
  }

  private static func key(_ octets: [UInt8], label: String) throws(Mistake) -> P256.PrivateKey {
    do throws(CryptographyError) {
      return try P256.PrivateKey(pem: PEM.encode(octets, label: label))
    } catch {
      throw error == .invalidKey ? .otherCurve : .otherKind
    }
  }

  /// Backslashes before `n` and `r` as line ends, without quotes and blanks around.
  private static func unescaped(_ text: String) -> [UInt8] {
    var out: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let octet = rest.popFirst() {
      if octet == UInt8(ascii: "\\"), let next = rest.first,
        next == UInt8(ascii: "n") || next == UInt8(ascii: "r")
      {
        rest = rest.dropFirst()
        out.append(0x0A)
      } else {
        out.append(octet)
      }
    }
    func isOutside(_ octet: UInt8) -> Bool {
      isBlank(octet) || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "'") || octet >= 0x80
    }
    return Array(out.drop(while: isOutside).reversed().drop(while: isOutside).reversed())
  }

  /// The armoured value, wherever its lines break; nil where there is no armour.
  private static func armoured(_ text: [UInt8]) throws(Mistake) -> (label: String, body: [UInt8])? {
    let dashes = Array("-----".utf8)
    guard text.starts(with: Array("-----BEGIN ".utf8)) else {
      if contains(text, dashes) { throw .unfinished }
      return nil
    }
    var rest = text.dropFirst(11)
    guard let labelEnd = firstRange(of: dashes, in: rest) else { throw .unfinished }
    let label = String(decoding: rest[..<labelEnd.lowerBound], as: UTF8.self)
    rest = rest[labelEnd.upperBound...]
    guard let bodyEnd = firstRange(of: Array("-----END \(label)-----".utf8), in: rest) else {
      throw .unfinished
    }
    guard label == "PRIVATE KEY" || label == "EC PRIVATE KEY" else { throw .otherKind }
    guard let body = Base64.decode(rest[..<bodyEnd.lowerBound].filter { !isBlank($0) }) else {
      throw .notBase64
    }
    return (label, body)
  }

  private static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }

  private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    firstRange(of: part, in: text[...]) != nil
  }

  private static func firstRange(of part: [UInt8], in text: ArraySlice<UInt8>) -> Range<Int>? {
    var rest = text
    while rest.count >= part.count {
      if rest.starts(with: part) { return rest.startIndex..<rest.startIndex + part.count }
      rest = rest.dropFirst()
    }
    return nil
  }
}

extension ApplePrivateKey.Mistake: CustomStringConvertible {
  /// What to do about it.
  package var description: String {
    switch self {
    case .empty: "it is empty"
    case .tooLong: "it is longer than a key file"
    case .notBase64: "it is neither the text of a .p8 file nor its base64"
    case .unfinished: "it has a -----BEGIN or -----END line without the other: a part of the file is missing"
    case .otherKind: "it is no unencrypted private key; use the AuthKey_….p8 file as Apple gave it"
    case .otherCurve: "it is a private key of another kind than Sign in with Apple uses (P-256)"
    }
  }
}
