import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct WebFlowTests {
  @Test("a sign-in in a browser ends with a session for who holds the verifier")
  func signIn() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let url = try await browser.authorize()
    #expect(url.hasPrefix("https://appleid.apple.com/auth/authorize?client_id=com.example.web&"))
    let end = try await browser.consent(url)
    #expect(end.hasPrefix(AppleServer.redirect + "?code="))
    let code = try #require(Browser.parameters(end)["code"])
    let key = try await apple.server.adminKey()
    #expect(
      try await apple.server.ask(.get, "/admin/users", bearer: key).fields["x-total-count"] == "0",
      "RULES §3.1: the callback changes no account")
    let wrong = Base64.encodeURL(SecureRandom.bytes(48))
    #expect(try await Outcome(browser.exchange(code, verifier: wrong)) == Outcome(400, "bad_code_verifier"))
    #expect(try await Outcome(browser.exchange("x")) == Outcome(404, "flow_state_not_found"))
    let session = try await ClientSession(browser.exchange(code))
    #expect(session.user["email"]?.string == AppleServer.ada)
    #expect(session.user["user_metadata"]?["full_name"]?.string?.hasPrefix("Ada") == true)
    #expect(session.json["provider_refresh_token"] == nil && session.json["provider_token"] == nil)
    #expect(try await apple.stored().first?.clientID == AppleServer.web)
    // RULES §3.6: the same again within two minutes is the same session; once it is acknowledged, no more.
    #expect(try await ClientSession(browser.exchange(code)).sessionID == session.sessionID)
    _ = try await apple.server.ask(.get, "/user", bearer: session.accessToken)
    #expect(try await browser.exchange(code).status == 400)
    #expect(try await apple.signIn().userID == session.userID, "one Apple account is one user on every way")
  }

  @Test("RULES §3.1: without code_challenge nothing begins")
  func withoutChallenge() async throws {
    let apple = try await AppleServer()
    let session = try await apple.server.signUp()
    for path in ["/authorize", "/user/identities/authorize"] {
      for query in [
        "provider=apple", "provider=apple&code_challenge=\(String(repeating: "a", count: 43))",
        "provider=apple&code_challenge=short&code_challenge_method=s256",
        "provider=apple&code_challenge=\(String(repeating: "a", count: 43))&code_challenge_method=x",
        "provider=google", "provider=", "provider=apple&code_challenge=%zz",
      ] {
        let response = try await apple.server.ask(.get, path + "?" + query, bearer: session.accessToken)
        #expect(try await Outcome(response) == Outcome(400, "validation_failed"), "\(path)?\(query)")
        #expect(response.fields["location"] == nil)
      }
    }
  }

  @Test("RULES §3.1: whoever is not on the list is not redirected to; the site is")
  func redirects() async throws {
    let apple = try await AppleServer()
    for redirect in ["https://evil.example/", "com.example.app://other", "javascript://x", ""] {
      var browser = Browser(apple)
      let url = try await browser.authorize(redirect)
      let end = try await browser.consent(url)
      #expect(end.hasPrefix("https://example.com?code="), "\(redirect)")
    }
  }

  @Test("another browser does not get the code")
  func binding() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let url = try await browser.authorize()
    let other = browser.cookies
    for cookies in [[], ["bramley-flow-0=x"], ["other=1"], other] {
      var fresh = browser
      let flow = try await fresh.authorize()
      fresh.cookies = cookies
      let end = try await fresh.consent(flow)
      #expect(end.hasPrefix("https://example.com?error="))
      #expect(Browser.parameters(end)["error_code"] == "bad_oauth_callback")
      #expect(Browser.parameters(end)["code"] == nil)
    }
    _ = url
  }

  @Test("a state is answered once; one that is unknown, or no form at all, goes to the site with 303")
  func states() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let redirect = try await apple.apple.authorize(url: browser.authorize(), account: AppleServer.ada)
    #expect(try await browser.post(redirect).fields["location"]?.contains("/auth/v1/callback?code=") == true)
    for form in [redirect.form.text, "state=x&code=y&id_token=z", "", "code=1", "%zz", "error=x"] {
      var request = redirect.request
      request.body = HTTPBody(form)
      let response = try await apple.server.whole.send(request)
      #expect(response.status == 303)
      #expect(response.fields["location"]?.hasPrefix("https://example.com?error=invalid_request&") == true)
    }
  }

  @Test("a refusal at Apple comes to the app, in the query and in the fragment")
  func cancelled() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let response = try await browser.post(try await apple.apple.cancel(url: browser.authorize()))
    #expect(response.status == 302)
    let location = response.fields["location"] ?? ""
    let parameters = "error=access_denied&error_code=user_cancelled_authorize&error_description="
    #expect(location.hasPrefix(AppleServer.redirect + "?" + parameters))
    #expect(location.contains("#" + parameters) && location.hasSuffix("&sb="))
  }

  @Test("a flow holds ten minutes and its code five")
  func times() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let late = try await browser.authorize()
    apple.server.whole.clock.advance(seconds: 601)
    let redirect = try await apple.apple.authorize(url: late, account: AppleServer.ada)
    #expect(
      try await browser.post(redirect).fields["location"]?.contains("error_code=bad_oauth_state") == true)
    let url = try await browser.authorize()
    let end = try await browser.consent(url)
    apple.server.whole.clock.advance(seconds: 301)
    let code = Browser.parameters(end)["code"] ?? ""
    #expect(try await Outcome(browser.exchange(code)) == Outcome(422, "flow_state_expired"))
  }

  @Test("RULES §3.1: linking in a browser changes nothing before the verifier's holder asks")
  func linking() async throws {
    let apple = try await AppleServer()
    let session = try await apple.server.signUp()
    let browser = Browser(apple)
    let path = "/user/identities/authorize?skip_http_redirect=true&" + browser.query()
    #expect(try await Outcome(apple.server.ask(.get, path)) == Outcome(403, "bad_jwt"))
    let response = try await apple.server.ask(.get, path, bearer: session.accessToken)
    #expect(response.status == 200)
    let url = try #require(try await response.json["url"]?.string)
    let code = Browser.parameters(try await browser.consent(url))["code"] ?? ""
    let before = try await apple.server.ask(.get, "/user", bearer: session.accessToken).json
    #expect(before["is_anonymous"]?.bool == true)
    let linked = try await ClientSession(browser.exchange(code))
    #expect(linked.userID == session.userID)
    #expect(linked.user["identities"]?.elements?.count == 1)
    let redirected = try await apple.server.ask(
      .get, "/user/identities/authorize?" + browser.query(), bearer: session.accessToken)
    #expect(redirected.status == 302)
  }

  @Test("an address begins so many sign-ins a minute, challenges and browsers together")
  func beginnings() async throws {
    let apple = try await AppleServer { $0.attest.challengesPerMinute = 2 }
    #expect(try await apple.challenge("sign_in").status == 200)
    var browser = Browser(apple)
    _ = try await browser.authorize()
    let refused = try await apple.server.ask(.get, "/authorize?" + browser.query())
    #expect(refused.fields["retry-after"] != nil)
    #expect(try await Outcome(refused) == Outcome(429, "over_request_rate_limit"))
    #expect(try await Outcome(apple.challenge("sign_in")) == Outcome(429, "over_request_rate_limit"))
  }

  @Test("the bodies that are no exchange")
  func bodies() async throws {
    let apple = try await AppleServer()
    for body in ["{}", #"{"auth_code":"x","code_verifier":""}"#, #"{"auth_code":null,"code_verifier":"x"}"#] {
      let response = try await apple.server.ask(.post, "/token?grant_type=pkce", body)
      #expect(try await Outcome(response) == Outcome(400, "validation_failed"))
    }
    let without = try await AccountServer()
    #expect(try await without.ask(.get, "/authorize?provider=apple").status == 400)
  }
}
