package import Cryptography
import Encodings

/// The rule of identity tokens: what must hold for one of Apple's tokens to be a sign-in here and now.
package struct IdentityTokenVerifier: Sendable {
  /// How far the clocks of Apple and this machine may differ, seconds.
  package static let clockSkew: Int64 = 60
  /// The greatest age by `iat`, seconds (RULES §2.1). The token's own life is ten minutes or a day.
  package static let maximumAge: Int64 = 600

  package let clients: [AppleClient]
  package let issuers: [String]

  /// The rule for tokens of these clients. Another issuer is accepted only where it is named.
  package init(clients: [AppleClient], issuers: [String] = [AppleIDService.issuer]) {
    self.clients = clients
    self.issuers = issuers
  }

  /// Who signed in, if everything holds.
  ///
  /// - Parameters:
  ///   - key: Apple's key of the name that the token's header says.
  ///   - nonce: what the request brought for the nonce.
  ///   - code: the authorization code that came with the token. If the token has a `c_hash`, it must be the
  ///     code's; ``AppleIdentity/belongs(_:)`` says whether it may be exchanged.
  ///   - now: seconds since 1970.
  package func verify(
    _ token: AppleToken, key: RSA.PublicKey, nonce: NonceRule, code: String? = nil, now: Int64
  ) throws(AppleTokenError) -> AppleIdentity {
    let claims = try token.claims(key: key)
    let identity = try identity(claims, token: token, now: now)
    let age = now.subtracting(identity.issuedAt)
    guard age <= Self.maximumAge else { throw .tooOld(age: age, limit: Self.maximumAge) }
    try nonce.check(identity.nonce, kind: identity.kind)
    if let code, identity.codeHash != nil, !identity.belongs(code) { throw .codeHash }
    return identity
  }

  /// Throws unless the identity token that a code was exchanged for is about the same as the first one: issuer,
  /// subject and audience (RULES §2.2). It has no nonce rule of its own: it came from Apple by the code.
  package func verifyExchanged(
    _ token: AppleToken, key: RSA.PublicKey, for first: AppleIdentity, now: Int64
  ) throws(AppleTokenError) {
    let second = try identity(try token.claims(key: key), token: token, now: now)
    guard same(second.issuer, first.issuer) else { throw .exchangeMismatch(claim: "iss") }
    guard same(second.subject, first.subject) else { throw .exchangeMismatch(claim: "sub") }
    guard same(second.clientID, first.clientID) else { throw .exchangeMismatch(claim: "aud") }
  }

  /// Whose consent a code stood for that came without an identity token: for ending that consent, never for signing
  /// anybody in.
  ///
  /// - Parameter clientID: the client that exchanged the code.
  package func verifyExchanged(
    _ token: AppleToken, key: RSA.PublicKey, clientID: String, now: Int64
  ) throws(AppleTokenError) -> AppleIdentity {
    let identity = try identity(try token.claims(key: key), token: token, now: now)
    guard same(identity.clientID, clientID) else { throw .exchangeMismatch(claim: "aud") }
    return identity
  }

  private func identity(
    _ claims: Claims, token: AppleToken, now: Int64
  ) throws(AppleTokenError) -> AppleIdentity {
    if claims.node["events"] != nil { throw .isNotification }
    let issuer = try claims.issuer(among: issuers)
    let client = try claims.client(among: clients)
    let (issuedAt, expiresAt) = try claims.times()
    guard issuedAt <= now.adding(Self.clockSkew) else {
      throw .fromTheFuture(issuedAt: issuedAt, now: now)
    }
    guard expiresAt.adding(Self.clockSkew) > now else { throw .expired(at: expiresAt, now: now) }
    guard let subject = claims.text("sub", limit: 255) else { throw .claim("sub") }
    if claims.has("nonce"), claims.node["nonce"]?.string == nil { throw .claim("nonce") }
    if claims.has("c_hash"), claims.node["c_hash"]?.string == nil { throw .claim("c_hash") }
    if claims.has("auth_time"), claims.time("auth_time") == nil { throw .claim("auth_time") }
    let email = claims.text("email", limit: 254)
    return AppleIdentity(
      teamID: client.teamID, subject: subject, issuer: issuer, clientID: client.clientID, kind: client.kind,
      email: email, isEmailVerified: email != nil && claims.truth("email_verified") == true,
      isPrivateEmail: email == nil ? nil : claims.truth("is_private_email"),
      realUserStatus: claims.node["real_user_status"]?.integer.map { RealUserStatus(rawValue: $0) },
      authTime: claims.time("auth_time"), issuedAt: issuedAt, expiresAt: expiresAt,
      nonce: claims.node["nonce"]?.string, transferSubject: claims.text("transfer_sub", limit: 255),
      codeHash: claims.node["c_hash"]?.string, tokenHash: token.hash)
  }
}

extension Claims {
  /// `iss`, if it is one of those accepted.
  func issuer(among accepted: [String]) throws(AppleTokenError) -> String {
    guard let issuer = node["iss"]?.string else { throw .claim("iss") }
    guard accepted.contains(where: { same($0, issuer) }) else {
      throw .issuer(received: issuer, accepted: accepted)
    }
    return issuer
  }

  /// The configured client that is the one audience.
  func client(among configured: [AppleClient]) throws(AppleTokenError) -> AppleClient {
    let audiences = audiences
    guard !audiences.isEmpty else { throw .claim("aud") }
    guard audiences.count == 1, let client = configured.first(where: { same($0.clientID, audiences[0]) })
    else { throw .audience(received: audiences, configured: configured.map(\.clientID)) }
    return client
  }

  /// `iat` and `exp`.
  func times() throws(AppleTokenError) -> (issuedAt: Int64, expiresAt: Int64) {
    guard let issuedAt = time("iat") else { throw .claim("iat") }
    guard let expiresAt = time("exp") else { throw .claim("exp") }
    return (issuedAt, expiresAt)
  }
}

extension Int64 {
  /// The sum, at the limits of the type where it is beyond them.
  func adding(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
