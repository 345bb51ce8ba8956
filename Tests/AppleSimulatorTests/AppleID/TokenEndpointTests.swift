import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: tokens")
struct TokenEndpointTests {
  @Test("a code gives tokens once; its identity token is about the same and passes the check of RULES §2.2")
  func exchange() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    let first = try await place.verify(granted.identityToken, code: granted.authorizationCode)
    place.clock.advance(seconds: 2)
    let request = try place.requests.exchange(
      code: granted.authorizationCode, of: first, redirectURI: nil, secret: place.secret())
    let tokens = try await place.tokens(request)
    let second = try AppleToken(parsing: #require(tokens.idToken))
    let key = try #require(try await place.published()[second.kid])
    try IdentityTokenVerifier(clients: place.clients).verifyExchanged(
      second, key: key, for: first, now: place.now)
    let claims = try JWS.Compact(parsing: #require(tokens.idToken)).claims
    #expect(claims["at_hash"]?.string == TokenHash.half(of: tokens.accessToken))
    #expect(claims["auth_time"]?.integer == first.issuedAt && claims["c_hash"] == nil)
    #expect(tokens.refreshToken?.hasPrefix("r") == true && tokens.accessToken.hasPrefix("a"))
    await #expect(throws: AppleRefusal.invalidGrant(detail: #""The code has already been used.""#)) {
      try await place.tokens(request)
    }
  }

  @Test("a code is over after five minutes, and with the consent")
  func expiry() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    let identity = try await place.verify(granted.identityToken, code: granted.authorizationCode)
    func exchange() async throws -> AppleTokens {
      try await place.tokens(
        place.requests.exchange(
          code: granted.authorizationCode, of: identity, redirectURI: nil, secret: place.secret()))
    }
    place.clock.advance(seconds: 300)
    await #expect(throws: AppleRefusal.invalidGrant(detail: #""The code has expired or has been revoked.""#))
    {
      try await exchange()
    }
    place.clock.advance(seconds: -1)
    _ = try await exchange()
    let next = try await place.signIn()
    _ = try await place.apple.revokeConsent(account: "ada@example.com", client: Cupertino.app)
    await #expect(throws: AppleRefusal.self) { try await place.exchanged(next) }
  }

  @Test("a code is bound to its client and its redirect URI")
  func bound() async throws {
    let place = try await Cupertino()
    let native = try await place.signIn()
    func post(_ client: String, _ code: String, _ uri: String?) async throws -> String? {
      let secret = try place.secretText(client)
      return try await place.post(
        "/auth/token",
        [
          ("client_id", client), ("client_secret", secret), ("grant_type", "authorization_code"),
          ("code", code),
        ]
          + (uri.map { [("redirect_uri", $0)] } ?? []))?["error"]?.string
    }
    #expect(try await post(Cupertino.site, native.authorizationCode, nil) == "invalid_grant")
    #expect(await place.apple.reasons.last?.contains("client_id mismatch") == true)
    #expect(try await post(Cupertino.app, native.authorizationCode, Cupertino.callback) == "invalid_grant")
    #expect(try await post(Cupertino.app, "c0", nil) == "invalid_grant")
    #expect(try await post(Cupertino.app, native.authorizationCode, nil) == nil)
    let url = place.requests.authorizeURL(
      clientID: Cupertino.site, redirectURI: Cupertino.callback, state: "s", nonce: Cupertino.raw)
    let code = try #require(
      try await place.apple.authorize(url: url, account: "ada@example.com").form["code"])
    #expect(try await post(Cupertino.site, code, nil) == "invalid_grant")
    #expect(try await post(Cupertino.site, code, Cupertino.callback + "/") == "invalid_grant")
    #expect(try await post(Cupertino.site, code, Cupertino.callback) == nil)
  }

  @Test("a refresh token is validated as often as asked, or once a day")
  func validation() async throws {
    let place = try await Cupertino()
    let refresh = try #require(try await place.exchanged(try await place.signIn()).refreshToken)
    func validate(_ token: String) async throws -> AppleTokens {
      try await place.tokens(place.requests.validate(refreshToken: token, secret: place.secret()))
    }
    let answer = try await validate(refresh)
    #expect(answer.refreshToken == nil && answer.idToken != nil)
    let gone = AppleRefusal.invalidGrant(detail: #""The token has expired or has been revoked.""#)
    await #expect(throws: gone) { try await validate(answer.accessToken) }
    await #expect(throws: gone) { try await validate("r0") }
    await place.apple.behave { $0.throttlesValidation = true }
    await #expect(throws: AppleRefusal.retryable(status: 429, retryAfter: nil)) {
      try await validate(refresh)
    }
    place.clock.advance(seconds: 86_400)
    _ = try await validate(refresh)
    _ = try await place.apple.revokeConsent(account: "ada@example.com", client: Cupertino.app)
    await #expect(throws: gone) { try await validate(refresh) }
  }

  @Test("revocation takes any text for a token, and ends what it knows")
  func revocation() async throws {
    let place = try await Cupertino()
    let tokens = try await place.exchanged(try await place.signIn())
    let refresh = try #require(tokens.refreshToken)
    func revoke(_ token: String, _ client: String = Cupertino.app) async throws {
      let answer = try await place.answer(
        place.requests.revoke(token, kind: .refreshToken, secret: place.secret(client)))
      try AppleAnswer.revocation(status: answer.status, fields: answer.fields, body: answer.body)
      #expect(answer.body.isEmpty)
    }
    try await revoke("anything")
    await #expect(throws: AppleRefusal.configuration(error: "invalid_client", detail: nil)) {
      try await revoke(refresh, Cupertino.site)
    }
    _ = try await place.tokens(place.requests.validate(refreshToken: refresh, secret: place.secret()))
    try await revoke(refresh)
    try await revoke(refresh)
    await #expect(throws: AppleRefusal.self) {
      try await place.tokens(place.requests.validate(refreshToken: refresh, secret: place.secret()))
    }
    #expect(try await place.signIn().user != nil, "after it the sheet asks anew")
    let wrongName = try await place.post(
      "/auth/revoke",
      [
        ("client_id", Cupertino.app), ("client_secret", try place.secretText(Cupertino.app)),
        ("refresh_token", refresh),
      ])
    #expect(wrongName?["error"]?.string == "invalid_request")
  }

  @Test("what Apple does: errors, pages, silence, and answers that are lost after the deed")
  func failures() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    await place.apple.fail(.keys, with: .page(502))
    await #expect(throws: AppleRefusal.retryable(status: 502, retryAfter: nil)) {
      try await place.published()
    }
    let first = try await place.verify(granted.identityToken, code: granted.authorizationCode)
    let request = try place.requests.exchange(
      code: granted.authorizationCode, of: first, redirectURI: nil, secret: place.secret())
    await place.apple.fail(.token, with: .status(503), times: 2)
    for _ in 0..<2 {
      await #expect(throws: AppleRefusal.retryable(status: 503, retryAfter: nil)) {
        try await place.tokens(request)
      }
    }
    await place.apple.fail(.token, with: .unreachable)
    await #expect(throws: HTTPClientError.connect) { try await place.tokens(request) }
    await place.apple.fail(.token, with: .silence(.milliseconds(5)))
    await #expect(throws: HTTPClientError.timedOut(.head)) { try await place.tokens(request) }
    await place.apple.fail(.token, with: .error("invalid_request"))
    await #expect(throws: AppleRefusal.suspect(detail: nil)) { try await place.tokens(request) }
    await place.apple.fail(.token, with: .lostAnswer)
    await #expect(throws: HTTPClientError.interrupted) { try await place.tokens(request) }
    await #expect(throws: AppleRefusal.invalidGrant(detail: #""The code has already been used.""#)) {
      try await place.tokens(request)
    }
    #expect(await place.apple.calls[.token] == 7)
    await place.apple.behave { $0.delay = .milliseconds(20) }
    let start = ContinuousClock.now
    _ = try await place.published()
    #expect(ContinuousClock.now - start >= .milliseconds(20))
  }

  @Test("a code that many exchange at once gives tokens to one")
  func race() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    let identity = try await place.verify(granted.identityToken, code: granted.authorizationCode)
    let request = try place.requests.exchange(
      code: granted.authorizationCode, of: identity, redirectURI: nil, secret: place.secret())
    let won = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 { group.addTask { (try? await place.tokens(request)) != nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(won == 1)
  }
}

extension Cupertino {
  /// The text of a client secret, which this package shows to nobody, made anew.
  func secretText(_ client: String) throws -> String {
    let claims: JSONValue = [
      "iss": .string(Self.team), "iat": .integer(now), "exp": .integer(now + 300),
      "aud": "https://appleid.apple.com", "sub": .string(client),
    ]
    return try ES256.sign(claims, kid: teamKey.keyID, type: nil, key: ApplePrivateKey.read(teamKey.p8))
  }
}
