import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import SignInWithApple

@Suite("Apple's requests and answers")
struct AppleRequestTests {
  private let requests = AppleRequests()
  private let apple = TestApple.shared
  private let code = "c9b331c8564354632b621ad38cd844368.0.rrqrr.HzdH1_g5XZ3Yf16j1YjaBA"

  private func secret(_ clientID: String) throws -> ClientSecret {
    try AppleSigningKey(teamID: "TEAM123456", keyID: "KEY1234567", key: TestKeys.elliptic.private)
      .clientSecret(for: clientID, now: TestApple.now)
  }

  private func identity(web: Bool = false) throws -> AppleIdentity {
    let hash: (String, JSONValue?) = ("c_hash", "UrZQpZpAgWqc-KmReuY74g")
    return web
      ? try apple.verify([
        hash, ("aud", .string(TestApple.web.clientID)), ("nonce", .string(TestApple.raw)),
      ]) : try apple.verify([hash])
  }

  private func form(_ request: HTTPRequest, _ target: String) throws -> FormParameters {
    #expect(request.method == .post && request.scheme == "https" && request.authority == "appleid.apple.com")
    #expect(request.target == target)
    #expect(request.fields["content-type"] == "application/x-www-form-urlencoded")
    guard case .bytes(let bytes) = request.body.content else { return FormParameters() }
    return try #require(FormParameters(parsing: String(decoding: bytes, as: UTF8.self)))
  }

  @Test("RULES §2.2: a code is exchanged only with the token that names it, by its client")
  func exchange() throws {
    let native = try identity()
    let secret = try secret("com.example.app")
    let form = try form(
      requests.exchange(code: code, of: native, redirectURI: nil, secret: secret), "/auth/token")
    #expect(form["client_id"] == "com.example.app" && form["client_secret"] == secret.value)
    #expect(form["grant_type"] == "authorization_code" && form["code"] == code)
    #expect(form["redirect_uri"] == nil && form.parameters.count == 4)
    #expect(throws: AppleRequests.ExchangeRefusal.foreignCode) {
      try requests.exchange(code: "another", of: native, redirectURI: nil, secret: secret)
    }
    #expect(throws: AppleRequests.ExchangeRefusal.foreignCode) {
      try requests.exchange(code: code, of: apple.verify(), redirectURI: nil, secret: secret)
    }
    let other = try self.secret("com.example.web")
    #expect(throws: AppleRequests.ExchangeRefusal.otherClient) {
      try requests.exchange(code: code, of: native, redirectURI: nil, secret: other)
    }
    #expect(throws: AppleRequests.ExchangeRefusal.redirectURI) {
      try requests.exchange(code: code, of: native, redirectURI: "https://a.example", secret: secret)
    }
  }

  @Test("the redirect URI goes with a web client's code, and must")
  func redirectURI() throws {
    let web = try identity(web: true)
    let secret = try secret("com.example.web")
    let uri = "https://a.example/cb?x=1&y=ü"
    let form = try form(
      requests.exchange(code: code, of: web, redirectURI: uri, secret: secret), "/auth/token")
    #expect(form["redirect_uri"] == uri)
    #expect(throws: AppleRequests.ExchangeRefusal.redirectURI) {
      try requests.exchange(code: code, of: web, redirectURI: nil, secret: secret)
    }
  }

  @Test("validation and revocation name the token as Apple wants it")
  func tokens() throws {
    let secret = try secret("com.example.app")
    let validation = try form(requests.validate(refreshToken: "r&=+ ü", secret: secret), "/auth/token")
    #expect(validation["grant_type"] == "refresh_token" && validation["refresh_token"] == "r&=+ ü")
    #expect(validation.parameters.count == 4)
    let revocation = try form(requests.revoke("r1", kind: .refreshToken, secret: secret), "/auth/revoke")
    #expect(revocation["token"] == "r1" && revocation["token_type_hint"] == "refresh_token")
    #expect(revocation["refresh_token"] == nil && revocation["client_id"] == "com.example.app")
    let access = try form(requests.revoke("a1", kind: .accessToken, secret: secret), "/auth/revoke")
    #expect(access["token_type_hint"] == "access_token")
  }

  @Test("the authorization asks for code and token by form post, everything encoded")
  func authorize() throws {
    let url = requests.authorizeURL(
      clientID: "com.example.web", redirectURI: "https://a.example/auth/v1/callback?x=1&y=2#", state: "s&t",
      nonce: "n o")
    let query = try #require(url.split(separator: "?", maxSplits: 1).last)
    #expect(url.hasPrefix("https://appleid.apple.com/auth/authorize?client_id=com.example.web&"))
    #expect(!query.contains("#"))
    let form = try #require(FormParameters(parsing: query))
    #expect(form["redirect_uri"] == "https://a.example/auth/v1/callback?x=1&y=2#")
    #expect(form["response_type"] == "code id_token" && form["response_mode"] == "form_post")
    #expect(form["scope"] == "name email" && form["state"] == "s&t" && form["nonce"] == "n o")
    let local = AppleRequests(
      service: AppleIDService(scheme: "http", authority: "127.0.0.1:9", pathPrefix: "/apple"))
    #expect(local.keys().target == "/apple/auth/keys" && local.keys().scheme == "http")
  }

  private func refusal(_ status: Int, _ body: String, _ fields: HTTPFields = [:]) -> AppleRefusal? {
    do {
      _ = try AppleAnswer.tokens(status: status, fields: fields, body: Array(body.utf8))
      return nil
    } catch { return error }
  }

  @Test("only invalid_grant speaks of the user, and only what speaks of nothing is tried again")
  func refusals() {
    #expect(
      refusal(400, #"{"error":"invalid_grant","error_description":"The code has already been used."}"#)
        == .invalidGrant(detail: #""The code has already been used.""#))
    #expect(
      refusal(400, #"{"error":"invalid_client"}"#) == .configuration(error: "invalid_client", detail: nil))
    #expect(
      refusal(401, #"{"error":"invalid_client"}"#) == .configuration(error: "invalid_client", detail: nil))
    for error in ["unauthorized_client", "unsupported_grant_type", "invalid_scope"] {
      #expect(refusal(400, #"{"error":"\#(error)"}"#) == .configuration(error: error, detail: nil))
    }
    #expect(refusal(400, #"{"error":"invalid_request"}"#) == .suspect(detail: nil))
    for (status, body) in [
      (500, #"{"error":"invalid_grant"}"#), (503, ""), (429, #"{"error":"invalid_grant"}"#),
      (408, #"{"error":"invalid_client"}"#), (400, "<html>"), (400, ""), (400, "{}"), (400, #"{"error":1}"#),
      (400, #"{"error":"new_error"}"#), (302, #"{"error":"invalid_grant"}"#), (204, ""), (200, "<html>"),
      (200, "{}"), (200, #"{"access_token":""}"#), (200, #"{"error":"invalid_grant"}"#),
      (400, #"{"error":"invalid_grant","error":"invalid_client"}"#),
    ] {
      #expect(refusal(status, body) == .retryable(status: status, retryAfter: nil), "\(status) \(body)")
    }
    #expect(refusal(429, "", ["Retry-After": "7"]) == .retryable(status: 429, retryAfter: 7))
    #expect(refusal(503, "", ["retry-after": "-1"]) == .retryable(status: 503, retryAfter: nil))
    #expect(refusal(503, "", ["retry-after": "999999999999"]) == .retryable(status: 503, retryAfter: 86_400))
    #expect(AppleRefusal(.timedOut(.head)) == .noAnswer(mayHaveArrived: true))
    #expect(AppleRefusal(.connect) == .noAnswer(mayHaveArrived: false))
    #expect(AppleRefusal(.connect).isRetryable && !AppleRefusal.invalidGrant(detail: nil).isRetryable)
  }

  @Test("tokens are read, and shown to nobody")
  func answer() throws {
    let body =
      #"{"access_token":"a1","token_type":"Bearer","expires_in":3600,"refresh_token":"r1","id_token":"i.d.t"}"#
    let tokens = try AppleAnswer.tokens(status: 200, fields: [:], body: Array(body.utf8))
    #expect(tokens.accessToken == "a1" && tokens.refreshToken == "r1" && tokens.idToken == "i.d.t")
    var text = "\(tokens)"
    dump(tokens, to: &text)
    for secret in ["a1", "r1", "i.d.t"] { #expect(!text.contains(secret)) }
    let refreshed = try AppleAnswer.tokens(
      status: 200, fields: [:], body: Array(#"{"access_token":"a"}"#.utf8))
    #expect(refreshed.refreshToken == nil && refreshed.idToken == nil)
    try AppleAnswer.revocation(status: 200, fields: [:], body: [])
    #expect(throws: AppleRefusal.configuration(error: "invalid_client", detail: nil)) {
      try AppleAnswer.revocation(status: 400, fields: [:], body: Array(#"{"error":"invalid_client"}"#.utf8))
    }
  }

  @Test("a page in the place of keys is no key set")
  func keys() throws {
    let set = JWKSet([JWK(.rsa(apple.key.publicKey), kid: "a")])
    #expect(try AppleAnswer.keys(status: 200, fields: [:], body: set.json.bytes) == set)
    for (status, body) in [(200, "<html>"), (200, #"{"keys":[]}"#), (500, set.json.text), (304, "")] {
      #expect(throws: AppleRefusal.retryable(status: status, retryAfter: nil)) {
        try AppleAnswer.keys(status: status, fields: [:], body: Array(body.utf8))
      }
    }
  }
}

extension AppleRequestTests {
  @Test("a transferred user is read, and nonsense is to be tried again")
  func transferAnswers() throws {
    func user(_ body: String) throws -> TeamTransfer.User {
      try AppleAnswer.transferredUser(status: 200, fields: [:], body: Array(body.utf8))
    }
    let read = try user(#"{"sub":"1.a.2","email":"x@privaterelay.appleid.com","is_private_email":"true"}"#)
    #expect(read.subject == "1.a.2" && read.isPrivateEmail == true)
    #expect(try user(#"{"sub":"1.a.2"}"#).email == nil)
    for body in ["", "{}", "<html>", #"{"sub":""}"#, #"{"sub":1}"#] {
      #expect(throws: AppleRefusal.retryable(status: 200, retryAfter: nil)) { try user(body) }
      #expect(throws: AppleRefusal.retryable(status: 200, retryAfter: nil)) {
        try AppleAnswer.transferIdentifier(status: 200, fields: [:], body: Array(body.utf8))
      }
    }
    #expect(throws: AppleRefusal.suspect(detail: nil)) {
      try AppleAnswer.transferIdentifier(
        status: 400, fields: [:], body: Array(#"{"error":"invalid_request"}"#.utf8))
    }
  }
}
