import Encodings
import HTTPMessages

extension SimulatedAppleID {
  /// What a user does on Apple's page: signs in as that account and consents.
  ///
  /// - Parameter url: the whole authorization URL, or its path and query.
  public func authorize(
    url: String, account email: String, hidesEmail: Bool = false
  ) throws(SimulatorError) -> SimulatedRedirect {
    let request = try request(url)
    return try grant(request, email: email, hidesEmail: hidesEmail)
  }

  /// What a user does who changes their mind on Apple's page.
  public func cancel(url: String) throws(SimulatorError) -> SimulatedRedirect { refuse(try request(url)) }

  private func request(_ url: String) throws(SimulatorError) -> AuthorizationRequest {
    let query = url.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1).last.map { String(Substring($0)) }
    guard let query, let parameters = FormParameters(parsing: query) else { throw .invalidAuthorization }
    do throws(AppleIDRefusal) {
      return try AuthorizationRequest(parameters, clients: clients)
    } catch {
      note("authorize: \(error.error): \(error.reason ?? "")")
      throw .invalidAuthorization
    }
  }

  /// `GET /auth/authorize` shows the page, `POST` takes what was chosen on it.
  func authorize(_ request: HTTPRequest, _ body: [UInt8]) throws(AppleIDRefusal) -> HTTPResponse {
    let text = request.method == .post ? String(decoding: body, as: UTF8.self) : String(request.query ?? "")
    guard let form = FormParameters(parsing: text) else { throw .request("the parameters are no form") }
    let authorization = try AuthorizationRequest(form, clients: clients)
    guard request.method == .post else {
      return AuthorizePage.consent(authorization, accounts: ledger.accounts)
    }
    guard form["decision"] == "continue" else { return answer(authorization, refuse(authorization)) }
    let email = try account(chosenIn: form)
    do throws(SimulatorError) {
      return answer(
        authorization, try grant(authorization, email: email, hidesEmail: form["hide_email"] != nil))
    } catch {
      throw .request("\(error)")
    }
  }

  /// The chosen account, or the one that was typed in, made where there is none.
  private func account(chosenIn form: FormParameters) throws(AppleIDRefusal) -> String {
    let typed = form["email"] ?? ""
    let email = typed.isEmpty ? form["account"] ?? "" : typed
    guard email.contains("@"), email.utf8.count <= 254 else { throw .request("no account was chosen") }
    if !ledger.accounts.contains(where: { $0.email == email }) {
      add(
        SimulatedAccount(
          email: email, firstName: form["first_name"] ?? "", lastName: form["last_name"] ?? ""))
    }
    return email
  }

  private func grant(
    _ request: AuthorizationRequest, email: String, hidesEmail: Bool
  ) throws(SimulatorError) -> SimulatedRedirect {
    let granted = try authorize(
      email, request.client, redirectURI: request.redirectURI, nonce: request.nonce, scopes: request.scopes,
      hidesEmail: hidesEmail)
    var form = FormParameters([("code", granted.authorizationCode)])
    if request.givesToken { form.append("id_token", granted.identityToken) }
    if let state = request.state { form.append("state", state) }
    if let user = granted.user { form.append("user", user.json.text) }
    return SimulatedRedirect(redirectURI: request.redirectURI, form: form)
  }

  private func refuse(_ request: AuthorizationRequest) -> SimulatedRedirect {
    var form = FormParameters([("error", "user_cancelled_authorize")])
    if let state = request.state { form.append("state", state) }
    return SimulatedRedirect(redirectURI: request.redirectURI, form: form)
  }

  private func answer(_ request: AuthorizationRequest, _ redirect: SimulatedRedirect) -> HTTPResponse {
    if request.mode == "form_post" { return AuthorizePage.formPost(redirect) }
    let mark = request.mode == "fragment" ? "#" : redirect.redirectURI.contains("?") ? "&" : "?"
    return HTTPResponse(
      status: 302,
      fields: ["location": redirect.redirectURI + mark + redirect.form.text, "cache-control": "no-store"])
  }
}

extension SimulatedAuthorization.User {
  /// As Apple's form post spells it: `{"name":{"firstName","lastName"},"email"}`.
  var json: JSONValue {
    var members: [(String, JSONValue)] = []
    if firstName != nil || lastName != nil {
      members.append(
        ("name", ["firstName": .string(firstName ?? ""), "lastName": .string(lastName ?? "")]))
    }
    if let email { members.append(("email", .string(email))) }
    return .object(members)
  }
}
