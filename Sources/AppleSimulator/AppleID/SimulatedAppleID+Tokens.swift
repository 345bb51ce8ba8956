import Cryptography
import Encodings
import HTTPMessages

extension SimulatedAppleID {
  /// `POST /auth/token`.
  func token(_ form: FormParameters) throws(AppleIDRefusal) -> HTTPResponse {
    if form["grant_type"] == "client_credentials" { return try migrationToken(form) }
    let client = try authenticate(form)
    switch form["grant_type"] {
    case "authorization_code": return try exchange(form, client)
    case "refresh_token": return try validate(form, client)
    case nil: throw .request("grant_type is missing")
    default: throw AppleIDRefusal("unsupported_grant_type")
    }
  }

  /// `POST /auth/revoke`: 200 for any text of a token, known or not.
  func revoke(_ form: FormParameters) throws(AppleIDRefusal) -> HTTPResponse {
    let client = try authenticate(form)
    guard let text = form["token"], !text.isEmpty else { throw .request("token is missing") }
    if let hint = form["token_type_hint"], hint != "refresh_token", hint != "access_token" {
      throw .request("token_type_hint is neither refresh_token nor access_token")
    }
    if let token = ledger.tokens[text] {
      guard token.client == client.clientID else {
        throw .client("the token was issued to \(token.client)")
      }
      ledger.revoke(token.consent)
    }
    return HTTPResponse(status: 200)
  }

  private func exchange(_ form: FormParameters, _ client: SimulatedAppleClient) throws(AppleIDRefusal)
    -> HTTPResponse
  {
    guard let text = form["code"] else { throw .request("code is missing") }
    let time = now()
    guard let code = ledger.codes[text], time - code.issuedAt < Self.codeLife else {
      throw .grant("The code has expired or has been revoked.")
    }
    guard code.client == client.clientID else {
      throw .grant("client_id mismatch. The code was not issued to \(client.clientID).")
    }
    guard code.redirectURI == form["redirect_uri"] else {
      throw .grant(
        code.redirectURI == nil
          ? "redirect_uri mismatch. The code was issued without one."
          : "redirect_uri mismatch. The code was not issued to \(form["redirect_uri"] ?? "none").")
    }
    guard !code.isUsed else { throw .grant("The code has already been used.") }
    ledger.codes[text]?.isUsed = true
    let refresh = AppleIDSpelling.credential("r", random(36))
    ledger.tokens[refresh] = AppleIDLedger.Token(
      client: client.clientID, consent: code.consent, isRefresh: true, issuedAt: time,
      authTime: code.issuedAt, nonce: code.nonce)
    return try answer(
      client, code.consent, authTime: code.issuedAt, nonce: code.nonce,
      also: [("refresh_token", .string(refresh))])
  }

  private func validate(_ form: FormParameters, _ client: SimulatedAppleClient) throws(AppleIDRefusal)
    -> HTTPResponse
  {
    guard let text = form["refresh_token"] else { throw .request("refresh_token is missing") }
    let time = now()
    guard let token = ledger.tokens[text], token.isRefresh, token.client == client.clientID,
      ledger.consents[token.consent]?.isLive == true
    else { throw .grant("The token has expired or has been revoked.") }
    if behaviour.throttlesValidation, let last = token.validatedAt, time - last < 86_400 {
      note("token: the refresh token was validated less than a day ago")
      return HTTPResponse(status: 429)
    }
    ledger.tokens[text]?.validatedAt = time
    return try answer(client, token.consent, authTime: token.authTime, nonce: nil, also: [])
  }

  private func answer(
    _ client: SimulatedAppleClient, _ consent: AppleIDLedger.ConsentKey, authTime: Int64, nonce: String?,
    also: [(String, JSONValue)]
  ) throws(AppleIDRefusal) -> HTTPResponse {
    let access = AppleIDSpelling.credential("a", random(36))
    ledger.tokens[access] = AppleIDLedger.Token(
      client: client.clientID, consent: consent, isRefresh: false, issuedAt: now(), authTime: authTime)
    let identity = try? identityToken(
      client: client.clientID, consent: consent, hash: ("at_hash", access), nonce: nonce, authTime: authTime,
      realUserStatus: nil)
    guard let identity else { throw AppleIDRefusal("server_error", reason: "nothing could be signed") }
    return Self.json(
      .object(
        [
          ("access_token", .string(access)), ("token_type", "Bearer"),
          ("expires_in", .integer(Self.accessTokenLife)),
        ] + also + [("id_token", .string(identity))]))
  }
}
