import Accounts
import Encodings
import SQL

/// A verified identity as a JSON text, between the callback of a web flow and its code's exchange (RULES §3.1).
enum AssertionText {
  static func spell(_ assertion: IdentityAssertion, _ token: SealedAppleToken?) -> String {
    var members: [(String, JSONValue)] = [
      ("provider", .string(assertion.provider)), ("team", .string(assertion.teamID)),
      ("sub", .string(assertion.subject)), ("client", .string(assertion.clientID)),
      ("iss", .string(assertion.issuer)), ("iat", .integer(assertion.issuedAt)),
      ("exp", .integer(assertion.expiresAt)), ("verified", .bool(assertion.isEmailVerified)),
      ("token", .string(Hex.encode(assertion.tokenHash))),
      ("request", .string(Hex.encode(assertion.requestHash))),
    ]
    if let subject = assertion.transferSubject { members.append(("transfer", .string(subject))) }
    if let time = assertion.authTime { members.append(("auth_time", .integer(time))) }
    if let email = assertion.email { members.append(("email", .string(email))) }
    if let isPrivate = assertion.isPrivateEmail { members.append(("private", .bool(isPrivate))) }
    if let hash = assertion.challengeHash { members.append(("challenge", .string(Hex.encode(hash)))) }
    if let given = assertion.fullName?.given { members.append(("given", .string(given))) }
    if let family = assertion.fullName?.family { members.append(("family", .string(family))) }
    if let token {
      members.append(("sealing_key", .string(token.sealingKey)))
      members.append(("sealed", .string(Hex.encode(token.sealed))))
      members.append(("next_check", .integer(token.nextCheck)))
    }
    return JSONValue.object(members).text
  }

  static func read(_ text: String) throws -> (assertion: IdentityAssertion, token: SealedAppleToken?) {
    guard let node = try? JSONReader.read(Array(text.utf8)), let provider = node["provider"]?.string,
      let team = node["team"]?.string, let subject = node["sub"]?.string,
      let client = node["client"]?.string, let issuer = node["iss"]?.string,
      let issuedAt = node["iat"]?.integer, let expiresAt = node["exp"]?.integer,
      let token = node["token"]?.string.flatMap({ Hex.decode($0) }),
      let request = node["request"]?.string.flatMap({ Hex.decode($0) })
    else { throw DatabaseError.corrupt("a web flow's identity cannot be read") }
    let (given, family) = (node["given"]?.string, node["family"]?.string)
    let assertion = IdentityAssertion(
      provider: provider, teamID: team, subject: subject, transferSubject: node["transfer"]?.string,
      clientID: client, issuer: issuer, issuedAt: issuedAt, expiresAt: expiresAt,
      authTime: node["auth_time"]?.integer, email: node["email"]?.string,
      isEmailVerified: node["verified"]?.bool ?? false, isPrivateEmail: node["private"]?.bool,
      fullName: given == nil && family == nil ? nil : PersonName(given: given, family: family),
      tokenHash: token, requestHash: request,
      challengeHash: node["challenge"]?.string.flatMap { Hex.decode($0) })
    guard let key = node["sealing_key"]?.string, let check = node["next_check"]?.integer,
      let sealed = node["sealed"]?.string.flatMap({ Hex.decode($0) })
    else { return (assertion, nil) }
    return (
      assertion,
      SealedAppleToken(
        teamID: team, subject: subject, clientID: client, sealingKey: key, sealed: sealed, nextCheck: check)
    )
  }
}
