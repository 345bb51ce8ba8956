import AppleSimulator
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: the page")
struct AuthorizePageTests {
  private func url(_ place: Cupertino, state: String = "s", nonce: String = Cupertino.raw) -> String {
    place.requests.authorizeURL(
      clientID: Cupertino.site, redirectURI: Cupertino.callback, state: state, nonce: nonce)
  }

  private func page(_ place: Cupertino, _ request: HTTPRequest) async throws -> (status: Int, html: String) {
    let answer = try await place.answer(request)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  /// The hidden fields of a page, as a browser would send them.
  private func hidden(_ html: String) -> [(String, String)] {
    html.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/).map {
      (unescaped(String($0.1)), unescaped(String($0.2)))
    }
  }

  private func unescaped(_ text: String) -> String {
    text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
      .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
  }

  private func submit(_ place: Cupertino, _ form: [(String, String)]) async throws -> (
    status: Int, html: String
  ) {
    try await page(
      place,
      HTTPRequest(
        method: .post, target: "/auth/authorize",
        fields: ["content-type": "application/x-www-form-urlencoded"],
        body: HTTPBody(FormParameters(form).text)))
  }

  @Test("a browser goes through the page and carries back a form that the server takes")
  func browser() async throws {
    let place = try await Cupertino()
    let target = String(url(place, state: "s\"><b>").dropFirst("https://appleid.apple.com".count))
    let (status, html) = try await page(place, HTTPRequest(method: .get, target: target))
    #expect(status == 200 && html.contains("ada@example.com") && !html.contains("<b>\""))
    let answer = try await submit(
      place, hidden(html) + [("account", "ada@example.com"), ("email", ""), ("decision", "continue")])
    #expect(answer.html.contains("action=\"\(Cupertino.callback)\""))
    let form = FormParameters(hidden(answer.html))
    guard case .granted(let grant)? = AuthorizationAnswer(form: Array(form.text.utf8)) else {
      Issue.record("\(form.text)")
      return
    }
    #expect(grant.state == "s\"><b>" && grant.fullName == AppleFullName(given: "Ada", family: "Lovelace"))
    let identity = try await place.verify(grant.idToken, code: grant.code)
    #expect(identity.kind == .web && identity.nonce == Cupertino.raw && identity.belongs(grant.code))
    #expect(identity.realUserStatus == nil)
    let tokens = try await place.tokens(
      place.requests.exchange(
        code: grant.code, of: identity, redirectURI: Cupertino.callback, secret: place.secret(Cupertino.site))
    )
    #expect(tokens.refreshToken != nil)
    // The second time there is no user; on a device the person is the same.
    let again = try await place.apple.authorize(url: url(place), account: "ada@example.com")
    #expect(again.form["user"] == nil && again.form["id_token"] != nil)
    #expect(try await place.signIn().subject == identity.subject)
  }

  @Test("cancelling carries back Apple's one error, and the state")
  func cancel() async throws {
    let place = try await Cupertino()
    let target = String(url(place).dropFirst("https://appleid.apple.com".count))
    let (_, html) = try await page(place, HTTPRequest(method: .get, target: target))
    let answer = try await submit(
      place, hidden(html) + [("account", "ada@example.com"), ("decision", "cancel")])
    let form = FormParameters(hidden(answer.html))
    #expect(form["error"] == "user_cancelled_authorize" && form["state"] == "s" && form["code"] == nil)
    let driven = try await place.apple.cancel(url: url(place))
    #expect(driven.form == FormParameters([("error", "user_cancelled_authorize"), ("state", "s")]))
    #expect(driven.request.target == "/auth/v1/callback" && driven.request.authority == "api.example.com")
  }

  @Test("an account can be made on the page, and nothing typed there becomes HTML")
  func newAccount() async throws {
    let place = try await Cupertino()
    let target = String(url(place).dropFirst("https://appleid.apple.com".count))
    let (_, html) = try await page(place, HTTPRequest(method: .get, target: target))
    let answer = try await submit(
      place,
      hidden(html) + [
        ("account", "ada@example.com"), ("email", "\"><script>@example.com"), ("first_name", "<i>"),
        ("last_name", "'"), ("hide_email", "1"), ("decision", "continue"),
      ])
    #expect(answer.status == 200 && !answer.html.contains("<script>@") && !answer.html.contains("<i>"))
    let user = try #require(FormParameters(hidden(answer.html))["user"])
    let node = try JSONReader.read(Array(user.utf8))
    #expect(node["name"]?["firstName"]?.string == "<i>")
    #expect(node["email"]?.string?.hasSuffix("@privaterelay.appleid.com") == true)
    let (_, list) = try await page(place, HTTPRequest(method: .get, target: target))
    #expect(!list.contains("<script>@") && !list.contains("<i>"))
    let none = try await submit(place, hidden(html) + [("decision", "continue")])
    #expect(none.status == 400)
  }

  @Test("Apple's rules for the parameters")
  func parameters() async throws {
    let place = try await Cupertino()
    func status(_ changes: [(String, String?)]) async throws -> Int {
      var form: [(String, String)] = [
        ("client_id", Cupertino.site), ("redirect_uri", Cupertino.callback),
        ("response_type", "code id_token"),
        ("response_mode", "form_post"), ("scope", "name email"), ("state", "s"), ("nonce", "n"),
      ]
      for (name, value) in changes {
        form.removeAll { $0.0 == name }
        if let value { form.append((name, value)) }
      }
      return try await page(
        place, HTTPRequest(method: .get, target: "/auth/authorize?" + FormParameters(form).text)
      ).status
    }
    #expect(try await status([]) == 200)
    #expect(try await status([("response_type", "code")]) == 200)
    #expect(try await status([("scope", nil), ("response_mode", nil)]) == 200)
    #expect(try await status([("scope", nil), ("response_mode", "query"), ("response_type", "code")]) == 200)
    let bad: [[(String, String?)]] = [
      [("client_id", nil)], [("client_id", Cupertino.app)], [("redirect_uri", nil)],
      [("redirect_uri", Cupertino.callback + "/")], [("redirect_uri", Cupertino.callback.uppercased())],
      [("response_mode", "query")], [("response_mode", "fragment")], [("response_mode", nil)],
      [("scope", "name email phone")], [("response_type", "token")], [("response_type", nil)],
      [("scope", nil), ("response_mode", "query")], [("response_mode", "web_message")],
    ]
    for changes in bad { #expect(try await status(changes) == 400, "\(changes)") }
    await #expect(throws: SimulatorError.invalidAuthorization) {
      try await place.apple.authorize(
        url: "https://appleid.apple.com/auth/authorize", account: "ada@example.com")
    }
  }

  @Test("without scopes the answer may come in a query or a fragment")
  func otherModes() async throws {
    let place = try await Cupertino()
    let base: [(String, String)] = [
      ("client_id", Cupertino.site), ("redirect_uri", Cupertino.callback), ("state", "s"),
      ("account", "ada@example.com"), ("decision", "continue"),
    ]
    for (mode, type, mark) in [("query", "code", "?"), ("fragment", "code id_token", "#")] {
      let answer = try await place.answer(
        HTTPRequest(
          method: .post, target: "/auth/authorize",
          body: HTTPBody(FormParameters(base + [("response_mode", mode), ("response_type", type)]).text)))
      let location = try #require(answer.fields["location"])
      #expect(answer.status == 302 && location.hasPrefix(Cupertino.callback + mark + "code="))
      #expect(location.contains("id_token=") == (mode == "fragment"))
    }
  }
}
