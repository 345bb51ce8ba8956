package import HTTPMessages

/// What this server asks of Apple, as values: whoever sends them does the rest.
package struct AppleRequests: Sendable {
  /// Which kind of token is revoked.
  package enum TokenKind: String, Sendable {
    case refreshToken = "refresh_token"
    case accessToken = "access_token"
  }

  /// Why a code is not exchanged.
  package enum ExchangeRefusal: Error, Equatable, Sendable {
    /// The identity token does not name this code (`c_hash`): somebody may have put it there (RULES §2.2).
    case foreignCode
    /// The secret is for another client than the identity token.
    case otherClient
    /// A web client needs the redirect URI of its authorization, a native one must not send any.
    case redirectURI
  }

  package let service: AppleIDService

  package init(service: AppleIDService = .apple) { self.service = service }

  /// Apple's keys; one set for identity tokens and notifications.
  package func keys() -> HTTPRequest { request(.get, "/auth/keys") }

  /// Exchanges the code that came with an identity token: once, within five minutes.
  ///
  /// - Parameter redirectURI: of the authorization of a web client; nil for a native one.
  package func exchange(
    code: String, of identity: AppleIdentity, redirectURI: String?, secret: ClientSecret
  ) throws(ExchangeRefusal) -> HTTPRequest {
    guard identity.belongs(code) else { throw .foreignCode }
    guard same(secret.clientID, identity.clientID) else { throw .otherClient }
    guard (redirectURI != nil) == (identity.kind == .web) else { throw .redirectURI }
    var form = credentials(secret)
    form.append("grant_type", "authorization_code")
    form.append("code", code)
    if let redirectURI { form.append("redirect_uri", redirectURI) }
    return post("/auth/token", form)
  }

  /// Exchanges a code that a native client was given and that came without an identity token, to end the consent
  /// that it stands for: ``IdentityTokenVerifier/verifyExchanged(_:key:clientID:now:)`` says whose that is. Nobody is
  /// signed in by it (RULES §2.2).
  ///
  /// - Parameter secret: for the client that the code was issued to.
  package func exchange(code: String, secret: ClientSecret) -> HTTPRequest {
    var form = credentials(secret)
    form.append("grant_type", "authorization_code")
    form.append("code", code)
    return post("/auth/token", form)
  }

  /// Asks whether a refresh token still holds; Apple allows that once a day.
  ///
  /// - Parameter secret: for the client that the token was issued to.
  package func validate(refreshToken: String, secret: ClientSecret) -> HTTPRequest {
    var form = credentials(secret)
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", refreshToken)
    return post("/auth/token", form)
  }

  /// Asks about the credentials alone, by exchanging a code that Apple never gave out: for
  /// ``AppleAnswer/probe(status:fields:body:)``.
  package func probe(secret: ClientSecret) -> HTTPRequest {
    var form = credentials(secret)
    form.append("grant_type", "authorization_code")
    form.append("code", "c00000000000000000000000000000000.0.probe.0000000000000000000000")
    return post("/auth/token", form)
  }

  /// Ends the user's consent by one of its tokens. Apple answers 200 for any text, so that success proves nothing;
  /// a refusal means that the client is not the token's.
  ///
  /// - Parameter secret: for the client that the token was issued to.
  package func revoke(_ token: String, kind: TokenKind, secret: ClientSecret) -> HTTPRequest {
    var form = credentials(secret)
    form.append("token", token)
    form.append("token_type_hint", kind.rawValue)
    return post("/auth/revoke", form)
  }

  /// Where a browser goes to sign in. The answer comes as a form post, since scopes are asked for, with both the
  /// code and the identity token, which names the code (RULES §2.2).
  ///
  /// - Parameters:
  ///   - nonce: a challenge of this server: Apple puts it into the token as it is.
  ///   - redirectURI: exactly as registered with Apple.
  package func authorizeURL(
    clientID: String, redirectURI: String, state: String, nonce: String
  ) -> String {
    let query = FormParameters([
      ("client_id", clientID), ("redirect_uri", redirectURI), ("response_type", "code id_token"),
      ("response_mode", "form_post"), ("scope", "name email"), ("state", state), ("nonce", nonce),
    ])
    return "\(service.scheme)://\(service.authority)\(service.pathPrefix)/auth/authorize?\(query.text)"
  }

  func credentials(_ secret: ClientSecret) -> FormParameters {
    FormParameters([("client_id", secret.clientID), ("client_secret", secret.value)])
  }

  func post(_ path: String, _ form: FormParameters) -> HTTPRequest {
    var request = request(.post, path)
    request.fields["content-type"] = "application/x-www-form-urlencoded"
    request.body = HTTPBody(form.text)
    return request
  }

  private func request(_ method: HTTPMethod, _ path: String) -> HTTPRequest {
    HTTPRequest(
      method: method, scheme: service.scheme, authority: service.authority,
      target: service.pathPrefix + path, fields: ["accept": "application/json"])
  }
}
