import Cryptography
import Encodings

/// The token by which a team proves itself to the services for devices, judged as Apple does.
struct SimulatedTeamToken {
  /// The team that may ask, and its key; nil takes every token that has the form of one.
  struct Team {
    let teamID: String
    let keyID: String
    let key: P256.PublicKey
  }

  /// How far the token's time may be from Apple's, seconds.
  static let tolerance: Int64 = 3_600

  /// Why a token is not taken, in Apple's words; nil for one that is.
  static func flaw(_ text: String?, team: Team?, now: Int64) -> String? {
    guard let text, let token = try? JWS.Compact(parsing: text), token.header.algorithm == "ES256",
      let claims = try? token.claims
    else { return "Missing or badly formatted authorization token" }
    guard let team else { return nil }
    guard token.header.kid == team.keyID, (try? ES256.verify(token, key: team.key)) != nil,
      claims["iss"]?.string == team.teamID
    else { return "Unable to verify authorization token" }
    guard let issuedAt = claims["iat"]?.integer, (0...1 << 53).contains(issuedAt),
      abs(issuedAt - now) <= tolerance
    else { return "Authorization Token Expired" }
    return nil
  }
}
