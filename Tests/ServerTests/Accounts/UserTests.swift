import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct AccountUserTests {
  @Test("the bearer reads and changes their user; a null removes its member")
  func change() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp(#"{"data":{"a":1,"b":"x"}}"#)
    let token = session.accessToken
    let got = try await server.ask(.get, "/user", bearer: token)
    #expect(try await got.text == session.user.value.text)
    let body = #"{"data":{"a":null,"c":[1]},"code_challenge":null,"code_challenge_method":null}"#
    let put = try await server.ask(.put, "/user?redirect_to=com.example.app%3A%2F%2F", body, bearer: token)
    #expect(put.status == 200)
    let user = try await put.json
    try ClientSession.requireUser(user)
    #expect(user["user_metadata"]?.value.text == #"{"b":"x","c":[1]}"#)
    for body in [#"{"email":null,"phone":"","password":null,"nonce":null}"#, "{}", #"{"data":null}"#] {
      #expect(try await server.ask(.put, "/user", body, bearer: token).status == 200)
    }
  }

  @Test("whatever depth a user may keep, their access token is taken")
  func depth() async throws {
    let server = try await AccountServer()
    func body(_ depth: Int) -> String {
      #"{"data":"# + String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        + "}"
    }
    let session = try await server.signUp(body(31))
    #expect(try await server.ask(.get, "/user", bearer: session.accessToken).status == 200)
    #expect(try await server.ask(.put, "/user", body(30), bearer: session.accessToken).status == 200)
    let later = try await ClientSession(server.refresh(session.refreshToken))
    #expect(try await server.ask(.get, "/user", bearer: later.accessToken).status == 200)
    let deeper = try await server.ask(.put, "/user", body(32), bearer: later.accessToken)
    #expect(try await Outcome(deeper) == Outcome(400, "bad_json"))
  }

  @Test("RULES §3.11: e-mail, phone and password changes are disabled; app_metadata is an operator's")
  func disabled() async throws {
    let server = try await AccountServer()
    let token = try await server.signUp().accessToken
    for (body, status, code) in [
      (#"{"email":"a@example.com"}"#, 422, "email_provider_disabled"),
      (#"{"password":"correct horse"}"#, 422, "email_provider_disabled"),
      (#"{"phone":"+123"}"#, 422, "phone_provider_disabled"),
      (#"{"app_metadata":{"admin":true}}"#, 403, "not_admin"),
      (#"{"data":[]}"#, 400, "validation_failed"),
      (#"{"data":{"a":""# + String(repeating: "a", count: 2_048) + #""}}"#, 422, "validation_failed"),
      ("", 400, "bad_json"),
    ] {
      let response = try await server.ask(.put, "/user", body, bearer: token)
      #expect(try await Outcome(response) == Outcome(status, code), "\(body.prefix(40))")
    }
  }

  @Test("an access token with any octet changed, of another issuer, or whose time is over, is bad_jwt")
  func tokens() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    let other = try await AccountServer()
    let foreign = try await other.signUp()
    #expect(
      try await Outcome(server.ask(.get, "/user", bearer: foreign.accessToken)) == Outcome(403, "bad_jwt"))
    let octets = Array(session.accessToken.utf8)
    for index in stride(from: 0, to: octets.count, by: 7) {
      var bent = octets
      bent[index] = bent[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let response = try await server.ask(.get, "/user", bearer: String(decoding: bent, as: UTF8.self))
      #expect(response.status == 403, "octet \(index)")
    }
    let cut = session.accessToken.dropLast(1)
    #expect(try await server.ask(.get, "/user", bearer: String(cut)).status == 403)
    server.whole.clock.advance(seconds: 3_599)
    #expect(try await server.ask(.get, "/user", bearer: session.accessToken).status == 200)
    server.whole.clock.advance(seconds: 1)
    #expect(
      try await Outcome(server.ask(.get, "/user", bearer: session.accessToken)) == Outcome(403, "bad_jwt"))
  }

  @Test("signing out is 204 without a body, and ends access and refresh at once")
  func logout() async throws {
    let server = try await AccountServer()
    for scope in ["", "?scope=", "?scope=global", "?scope=local"] {
      let session = try await server.signUp()
      let out = try await server.ask(.post, "/logout" + scope, bearer: session.accessToken)
      #expect(out.status == 204)
      #expect(try await out.text.isEmpty && out.fields["content-type"] == nil)
      #expect(
        try await Outcome(server.ask(.get, "/user", bearer: session.accessToken))
          == Outcome(403, "session_not_found"))
      #expect(
        try await Outcome(server.refresh(session.refreshToken)) == Outcome(400, "refresh_token_not_found"))
      #expect(
        try await Outcome(server.ask(.post, "/logout", bearer: session.accessToken))
          == Outcome(403, "session_not_found"))
    }
    let session = try await server.signUp()
    let odd = try await server.ask(.post, "/logout?scope=everything", bearer: session.accessToken)
    #expect(try await odd.json["message"]?.string == #"Unsupported logout scope "everything""#)
    #expect(try await server.ask(.post, "/logout?scope=others", bearer: session.accessToken).status == 204)
    #expect(try await server.ask(.get, "/user", bearer: session.accessToken).status == 200)
  }

  @Test("contract 0.7: an identity's id may come in capitals; an anonymous user has none to unlink")
  func unlink() async throws {
    let server = try await AccountServer()
    let token = try await server.signUp().accessToken
    let id = "E106CA9A-1111-4222-8333-444444444444"
    #expect(
      try await Outcome(server.ask(.delete, "/user/identities/\(id)", bearer: token))
        == Outcome(422, "single_identity_not_deletable"))
    let odd = try await server.ask(.delete, "/user/identities/apple", bearer: token)
    #expect(odd.status == 404)
    #expect(try await odd.json["message"]?.string == "identity_id must be an UUID")
  }

  @Test("a ban and a deletion end access at once, and a lifted ban gives it back")
  func ban() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    let key = try await server.adminKey()
    let path = "/admin/users/\(session.userID)"
    func outcome() async throws -> [Outcome] {
      [
        try await Outcome(server.ask(.get, "/user", bearer: session.accessToken)),
        try await Outcome(server.refresh(session.refreshToken)),
      ]
    }
    let banned = try await server.ask(.put, path, #"{"ban_duration":"1h30m"}"#, bearer: key)
    #expect(try await banned.json["banned_until"]?.string != nil)
    #expect(try await outcome() == [Outcome(403, "user_banned"), Outcome(400, "user_banned")])
    _ = try await server.ask(.put, path, #"{"ban_duration":"none"}"#, bearer: key)
    #expect(try await outcome() == [Outcome(200), Outcome(200)])
    _ = try await server.ask(.delete, path, #"{"should_soft_delete":false}"#, bearer: key)
    #expect(
      try await outcome() == [Outcome(403, "session_not_found"), Outcome(400, "refresh_token_not_found")])
  }
}
