package import Cryptography
import Encodings

/// The key by which a team proves itself to Apple's services for devices: one that is enabled for DeviceCheck in
/// Apple's portal. It serves receipts as well.
package struct AppleServiceKey: Sendable {
  /// Ten characters: `iss`. Not always the App ID prefix.
  package let teamID: String
  /// Ten characters: `kid`.
  package let keyID: String
  private let key: P256.PrivateKey

  package init(teamID: String, keyID: String, key: P256.PrivateKey) {
    self.teamID = teamID
    self.keyID = keyID
    self.key = key
  }

  /// A token of now, as Apple's push service has them too: `iss` and `iat` and no expiry, ES256.
  ///
  /// - Parameter now: seconds since 1970. Apple refuses a token of another time than its own.
  package func token(now: Int64) throws(CryptographyError) -> AppleServiceToken {
    AppleServiceToken(
      value: try ES256.sign(["iss": .string(teamID), "iat": .integer(now)], kid: keyID, type: nil, key: key))
  }
}

extension AppleServiceKey: CustomStringConvertible, CustomReflectable {
  /// Team and key id.
  package var description: String { "key \(keyID) of team \(teamID)" }
  /// Nothing secret.
  package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID, "teamID": teamID]) }
}

/// A signed token of an ``AppleServiceKey``.
package struct AppleServiceToken: Sendable, CustomStringConvertible, CustomReflectable {
  let value: String

  /// The type's name alone.
  package var description: String { "AppleServiceToken" }
  /// Nothing.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
