package import Cryptography
import Encodings

/// The key by which a team proves itself to Apple, with its names.
package struct AppleSigningKey: Sendable {
  /// Ten characters: `iss` of client secrets.
  package let teamID: String
  /// Ten characters: `kid`.
  package let keyID: String
  private let key: P256.PrivateKey

  package init(teamID: String, keyID: String, key: P256.PrivateKey) {
    self.teamID = teamID
    self.keyID = keyID
    self.key = key
  }

  /// How long a client secret holds, seconds. Apple would take six months; one that is made for each use can
  /// neither expire unnoticed nor be of much use to a thief.
  package static let secretLife: Int64 = 300

  /// The `client_secret` of one request for that client.
  ///
  /// - Parameter now: seconds since 1970.
  package func clientSecret(for clientID: String, now: Int64) throws(CryptographyError) -> ClientSecret {
    let claims: JSONValue = [
      "iss": .string(teamID), "iat": .integer(now), "exp": .integer(now.adding(Self.secretLife)),
      "aud": .string(AppleIDService.issuer), "sub": .string(clientID),
    ]
    return ClientSecret(
      clientID: clientID, teamID: teamID, value: try ES256.sign(claims, kid: keyID, type: nil, key: key))
  }
}

/// A client id with the secret that was made for it: the two of a request always belong together.
package struct ClientSecret: Sendable, CustomStringConvertible, CustomReflectable {
  package let clientID: String
  let teamID: String
  let value: String

  /// The client alone.
  package var description: String { "client secret for \(clientID)" }
  /// The client alone.
  package var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}
