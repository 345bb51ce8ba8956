import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@testable import Server

@Suite struct AppleSignInTests {
  @Test("a first sign-in makes a user with an identity, as Supabase Auth writes them")
  func first() async throws {
    let apple = try await AppleServer()
    let sheet = try await apple.sheet()
    let session = try await ClientSession(apple.grant(AppleServer.body(sheet)))
    #expect(session.user["is_anonymous"]?.bool == false)
    #expect(session.user["email"]?.string == AppleServer.ada)
    #expect(session.user["email_confirmed_at"]?.string != nil)
    #expect(
      session.user["app_metadata"]?.value.text == #"{"provider":"apple","providers":["apple"]}"#)
    let identity = try #require(session.user["identities"]?.elements?.first)
    #expect(
      identity.members?.map(\.name) == [
        "identity_id", "id", "user_id", "identity_data", "provider", "last_sign_in_at", "created_at",
        "updated_at", "email",
      ])
    #expect(identity["id"]?.string == sheet.granted.subject && identity["provider"]?.string == "apple")
    #expect(identity["identity_data"]?["sub"]?.string == sheet.granted.subject)
    #expect(try session.claims["amr"]?.elements?.first?["method"]?.string == "oauth")
    #expect(try session.claims["acr"]?.string == "1")
    #expect(try session.claims["auth_time"]?.integer == apple.server.whole.clock.seconds)
    let again = try await apple.signIn()
    #expect(again.userID == session.userID)
    #expect(try again.sessionID != session.sessionID)
  }

  @Test("contract 0.6: what clients send beside it does not matter: nulls, the key as bearer, a client id")
  func clients() async throws {
    let apple = try await AppleServer()
    let more: [(String, JSONValue)] = [
      ("access_token", nil), ("client_id", "anything"), ("issuer", nil), ("link_identity", false),
      ("gotrue_meta_security", ["captcha_token": nil]),
    ]
    let sheet = try await apple.sheet()
    let body = JSONValue.object(
      [
        ("provider", "apple"), ("id_token", .string(sheet.granted.identityToken)),
        ("nonce", .string(sheet.raw)),
      ] + more
    ).text
    _ = try await ClientSession(apple.grant(body, bearer: "sb_publishable_x"))
  }

  @Test("RULES §1.12: an App Clip has its app's key, and a client of its own; both are one user")
  func clip() async throws {
    let apple = try await AppleServer {
      $0.auth?.apple?.clients.append(
        AppleClient(clientID: "com.example.clip", kind: .native, teamID: AppleServer.team))
    }
    let phone = try await apple.server.whole.phone()
    let body = AppleServer.body(try await apple.sheet(client: "com.example.clip"))
    let fromClip = try await ClientSession(apple.grant(body))
    let fromApp = try await apple.signIn()
    #expect(fromClip.userID == fromApp.userID)
    for session in [fromClip, fromApp] {
      var request = Phone.question()
      request.fields["authorization"] = "Bearer \(session.accessToken)"
      #expect(try await apple.server.whole.send(phone.sign(request)).status == 200)
    }
    #expect(try await apple.server.whole.usage().map(\.userID) == [fromClip.userID, fromClip.userID])
    // Without a client of its own the clip's token is none of ours, however good the key.
    let strict = try await AppleServer()
    let refused = try await strict.grant(AppleServer.body(strict.sheet(client: "com.example.clip")))
    #expect(try await Outcome(refused) == Outcome(400, "audience_not_accepted"))
  }

  @Test("Apple may be named by any issuer that is accepted, and by no other")
  func issuers() async throws {
    let apple = try await AppleServer()
    for (issuer, isAccepted) in [
      ("https://appleid.apple.com", true), ("https://account.apple.com", true),
      ("https://accounts.google.com", false),
    ] {
      let sheet = try await apple.sheet()
      let body: JSONValue = [
        "issuer": .string(issuer), "client_id": "anything", "nonce": .string(sheet.raw),
        "id_token": .string(sheet.granted.identityToken),
      ]
      let answer = try await apple.grant(body.text)
      #expect(answer.status == (isAccepted ? 200 : 400), "\(issuer)")
      if !isAccepted { #expect(try await Outcome(answer) == Outcome(400, "provider_disabled")) }
    }
  }

  @Test("what is wrong is told in OAuth's form with a code, and always with 400")
  func refusals() async throws {
    let apple = try await AppleServer()
    let sheet = try await apple.sheet()
    let token = sheet.granted.identityToken
    let clip = try await apple.sheet(client: "com.example.clip").granted.identityToken
    let cases: [(JSONValue, String, String, String)] = [
      (["provider": "apple"], "invalid request", "id_token required", "validation_failed"),
      (
        ["id_token": .string(token)], "invalid request", "provider or client_id and issuer required",
        "validation_failed"
      ),
      (["provider": "apple", "id_token": "x"], "invalid request", "Bad ID token", "identity_token_invalid"),
      (
        ["provider": "apple", "id_token": .string(token)], "invalid request",
        "Passed nonce and nonce in id_token should either both exist or not.", "nonce_mismatch"
      ),
      (
        ["provider": "apple", "id_token": .string(token), "nonce": "other"], "invalid nonce",
        "Nonces mismatch", "nonce_mismatch"
      ),
      (
        ["provider": "apple", "id_token": .string(clip), "nonce": "x"], "invalid request",
        "Unacceptable audience in id_token: [com.example.clip]; configured: com.example.app, com.example.web",
        "audience_not_accepted"
      ),
    ]
    for (body, error, description, code) in cases {
      let response = try await apple.grant(body.text)
      #expect(response.status == 400)
      let answer = try await response.json
      #expect(answer["error"]?.string == error)
      #expect(answer["error_description"]?.string?.hasPrefix(description) == true, "\(answer.value.text)")
      #expect(answer["code"]?.string == code)
      #expect(answer["message"]?.string == answer["error_description"]?.string)
    }
    let google = try await apple.grant(#"{"provider":"google","id_token":"x"}"#)
    #expect(try await google.json["message"]?.string == #"Custom OIDC provider "google" not allowed"#)
    let none = try await AccountServer().ask(
      .post, "/token?grant_type=id_token", #"{"provider":"apple","id_token":"x"}"#)
    #expect(try await Outcome(none) == Outcome(400, "provider_disabled"))
  }

  @Test("RULES §2.1: a token is used once, is ten minutes old at most, and nothing in it can be bent")
  func once() async throws {
    let apple = try await AppleServer()
    let sheet = try await apple.sheet()
    _ = try await ClientSession(apple.grant(AppleServer.body(sheet)))
    let other = AppleServer.body(sheet, [("more", 1)])
    #expect(try await Outcome(apple.grant(other)) == Outcome(400, "identity_token_used"))
    let old = try await apple.sheet()
    apple.server.whole.clock.advance(seconds: 601)
    #expect(try await Outcome(apple.grant(AppleServer.body(old))) == Outcome(400, "identity_token_invalid"))
    let fresh = try await apple.sheet()
    let octets = Array(fresh.granted.identityToken.utf8)
    for index in stride(from: 0, to: octets.count, by: 41) {
      var bent = fresh
      var changed = octets
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      bent.granted.identityToken = String(decoding: changed, as: UTF8.self)
      #expect(try await apple.grant(AppleServer.body(bent)).status == 400, "octet \(index)")
    }
    _ = try await ClientSession(apple.grant(AppleServer.body(fresh)))
  }

  @Test("RULES §3.6: the very same request within two minutes gives the same session")
  func twice() async throws {
    let apple = try await AppleServer()
    let body = try await AppleServer.body(apple.sheet())
    let first = try await ClientSession(apple.grant(body))
    let second = try await ClientSession(apple.grant(body))
    #expect(try first.sessionID == second.sessionID)
    #expect(first.refreshToken == second.refreshToken)
    _ = try await apple.server.ask(.get, "/user", bearer: second.accessToken)
    #expect(try await Outcome(apple.grant(body)) == Outcome(400, "identity_token_used"))
  }

  @Test("fifty first sign-ins at once make one user")
  func race() async throws {
    let apple = try await AppleServer()
    var bodies: [String] = []
    for _ in 0..<50 { bodies.append(try await AppleServer.body(apple.sheet())) }
    let users = try await withThrowingTaskGroup(of: String.self) { group in
      for body in bodies { group.addTask { try await ClientSession(apple.grant(body)).userID } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(users.count == 1)
  }

  @Test("name and e-mail are kept when they first come, and never overwritten by nothing")
  func profile() async throws {
    let apple = try await AppleServer()
    let first = try await apple.signIn(
      AppleServer.ada,
      [("user", #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"x@evil.example"}"#)])
    #expect(first.user["user_metadata"]?["full_name"]?.string == "Ada Lovelace")
    #expect(first.user["email"]?.string == AppleServer.ada)
    let again = try await apple.signIn(AppleServer.ada, [("user", nil)])
    #expect(again.user["user_metadata"]?["full_name"]?.string == "Ada Lovelace")
    let grace = try await apple.signIn(
      AppleServer.grace, [("name", ["given_name": "Grace", "family_name": nil])])
    #expect(grace.user["user_metadata"]?["given_name"]?.string == "Grace")
  }

  @Test("a ban refuses the sign-in; nobody new comes in where sign-ups are closed")
  func closed() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let key = try await apple.server.adminKey()
    _ = try await apple.server.ask(
      .put, "/admin/users/" + session.userID, #"{"ban_duration":"1h"}"#, bearer: key)
    let body = try await AppleServer.body(apple.sheet())
    #expect(try await Outcome(apple.grant(body)) == Outcome(403, "user_banned"))
    let shut = try await AppleServer { $0.auth?.signUps = false }
    let newcomer = try await AppleServer.body(shut.sheet())
    #expect(try await Outcome(shut.grant(newcomer)) == Outcome(422, "signup_disabled"))
  }

  @Test("Apple's keys: one request for all who wait, old keys through an outage, new ones when they come")
  func keys() async throws {
    let apple = try await AppleServer()
    var bodies: [String] = []
    for _ in 0..<20 { bodies.append(try await AppleServer.body(apple.sheet())) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for body in bodies { group.addTask { _ = try await ClientSession(apple.grant(body)) } }
      try await group.waitForAll()
    }
    #expect(await apple.apple.calls[.keys] == 1)
    await apple.apple.fail(.keys, with: .status(503), times: 100)
    apple.server.whole.clock.advance(seconds: 86_400)
    _ = try await apple.signIn()
    try await apple.apple.rotateKeys(keeping: 0)
    apple.server.whole.clock.advance(seconds: 61)
    let unknown = try await apple.grant(try await AppleServer.body(apple.sheet()))
    #expect(unknown.status == 503 && unknown.fields["retry-after"] != nil)
    await apple.apple.fail(.keys, with: .status(503), times: 0)
    apple.server.whole.clock.advance(seconds: 61)
    _ = try await apple.signIn()
    let calls = await apple.apple.calls[.keys] ?? 0
    let key = try RSA.PrivateKey()
    for _ in 0..<20 {
      let forged = try RS256.sign(["a": 1], kid: Hex.encode(SecureRandom.bytes(5)), key: key)
      let body: JSONValue = ["provider": "apple", "id_token": .string(forged), "nonce": "x"]
      #expect(try await apple.grant(body.text).status >= 400)
    }
    #expect(await apple.apple.calls[.keys] ?? 0 <= calls + 1)
  }
}
