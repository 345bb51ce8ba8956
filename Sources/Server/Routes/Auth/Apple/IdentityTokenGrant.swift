import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// `grant_type=id_token`: an identity token signs in, is linked to the bearer's user (`link_identity`), or renews
/// the bearer's `auth_time` (`reauthenticate`). A plain sign-in never looks at Authorization.
struct IdentityTokenGrant: Sendable {
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request)
    let asked = try IdentityTokenRequest(body, issuers: service.auth.apple?.issuers ?? [])
    guard let apple = service.apple else {
      throw Failure.providerDisabled(AppleIDService.issuer)
    }
    let bearer = try await bearer(request, asked.purpose, exchange)
    let (rule, challenge) = apple.rule(asked.nonce)
    if challenge == nil, apple.apple.requireChallenge || asked.purpose == .reauthenticate {
      throw Failure.oauth(
        .nonceMismatch,
        "Nonces mismatch: a challenge of this server is wanted (POST \(AccountTargets.appleChallenge))",
        error: "invalid nonce")
    }
    let identity = try await apple.verify(
      asked.token, nonce: rule, code: asked.code, now: service.environment.now())
    let keyID = try await service.evidence.keyID(request, body: body.octets, &exchange)
    var sealed: SealedAppleToken?
    if let code = asked.code {
      sealed = try await apple.exchange.exchange(code: code, of: identity, redirectURI: nil)
    }
    let assertion = IdentityAssertion(
      identity, fullName: asked.fullName, requestHash: SHA256.hash(body.octets), challengeHash: challenge)
    let steps = IdentitySteps(service: service)
    let response = try await steps.answer(
      assertion, linkingTo: asked.purpose == .link ? bearer?.session.id : nil,
      reauthenticating: asked.purpose == .reauthenticate ? bearer?.session.id : nil,
      bearer: bearer?.user.id, keyID: keyID, origin: exchange.origin(),
      stored: { await apple.exchange.keep(sealed, of: $0) })
    return response
  }

  private func bearer(
    _ request: HTTPRequest, _ purpose: Accounts.ChallengePurpose, _ exchange: Exchange
  ) async throws -> Bearer? {
    switch purpose {
    case .link:
      guard service.auth.manualLinking else { throw Failure.manualLinkingDisabled }
      guard BearerCheck.token(request) != nil else {
        throw Failure.oauth(
          .noAuthorization, "Linking requires a valid user access token in Authorization")
      }
      return try await service.bearers.require(request, now: exchange.startedAt)
    case .reauthenticate:
      do {
        return try await service.bearers.require(request, now: exchange.startedAt)
      } catch var failure as Failure where failure.code == .badJWT || failure.code == .sessionNotFound {
        // RULES §3.3: without a valid bearer it is 401.
        failure.status = 401
        throw failure
      }
    case .signIn, .delete: return nil
    }
  }
}

/// What is asked with an identity token.
struct IdentityTokenRequest: Sendable {
  let token: String
  let nonce: String?
  /// Apple's authorization code, which Supabase's clients do not send: with it consent can be checked and revoked.
  let code: String?
  let fullName: AppleFullName?
  let purpose: Accounts.ChallengePurpose

  /// - Parameter issuers: those by which Apple may be named in the place of `provider`.
  init(_ body: AccountBody, issuers: [String]) throws(Failure) {
    guard let token = try body.text("id_token") else {
      throw .oauth(.validationFailed, "id_token required")
    }
    self.token = token
    let provider = try body.text("provider")
    let issuer = try body.text("issuer")
    let clientID = try body.text("client_id")
    guard provider != nil || issuer != nil && clientID != nil else {
      throw .oauth(.validationFailed, "provider or client_id and issuer required")
    }
    if let provider, provider != "apple" {
      throw .validation("Custom OIDC provider \"\(String(provider.prefix(64)))\" not allowed")
    }
    if provider == nil, let issuer, issuer != AppleIDService.issuer, !issuers.contains(issuer) {
      throw .providerDisabled(String(issuer.prefix(128)))
    }
    nonce = try body.text("nonce")
    code = try body.text("authorization_code")
    fullName = try Self.fullName(body)
    switch (try body.flag("link_identity"), try body.flag("reauthenticate")) {
    case (false, false): purpose = .signIn
    case (true, false): purpose = .link
    case (false, true): purpose = .reauthenticate
    case (true, true): throw .validation("link_identity and reauthenticate exclude each other")
    }
  }

  /// The name as Apple's sheet or form gave it to the app, at the first sign-in alone: in `user` as Apple's form
  /// spells it, or in `name` by its parts.
  private static func fullName(_ body: AccountBody) throws(Failure) -> AppleFullName? {
    if let user = body["user"] {
      return AppleFullName(userJSON: user.string ?? user.value.text)
    }
    guard let name = body["name"] else { return nil }
    return AppleFullName(
      given: (name["given_name"] ?? name["givenName"] ?? name["firstName"])?.string,
      family: (name["family_name"] ?? name["familyName"] ?? name["lastName"])?.string)
  }
}
