import Accounts
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct AnonymousTests {
  @Test("contract 0.2: an anonymous session has every member, in the order of Supabase Auth, and ours behind")
  func session() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp(#"{"data":{"theme":"dark"},"gotrue_meta_security":{}}"#)
    #expect(
      session.json.members?.map(\.name) == [
        "access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user",
      ])
    #expect(
      session.user.members?.map(\.name) == [
        "id", "aud", "role", "email", "phone", "last_sign_in_at", "app_metadata", "user_metadata",
        "identities", "created_at", "updated_at", "is_anonymous", "may_contact", "may_market",
      ])
    #expect(session.user["is_anonymous"]?.bool == true)
    #expect(session.user["email"]?.string == "" && session.user["app_metadata"]?.members?.isEmpty == true)
    #expect(session.user["user_metadata"]?["theme"]?.string == "dark")
    #expect(session.user["identities"]?.elements?.isEmpty == true)
    #expect(session.expiresAt == server.whole.clock.seconds + 3_600)
    #expect(session.json["expires_in"]?.integer == 3_600)
  }

  @Test("the bodies of all clients sign up; null is as good as nothing")
  func bodies() async throws {
    let server = try await AccountServer()
    for body in [
      "{}", #"{"data":null,"gotrue_meta_security":{"captcha_token":null}}"#, #"{"email":"","phone":""}"#,
      #"{"email":null,"password":null,"data":{}}"#,
    ] {
      _ = try await server.signUp(body)
    }
  }

  @Test("metadata beyond 2 KiB, or of another kind, is refused and makes no user")
  func metadata() async throws {
    let server = try await AccountServer()
    let long = #"{"data":{"a":""# + String(repeating: "a", count: 2_048) + #""}}"#
    #expect(try await Outcome(server.ask(.post, "/signup", long)) == Outcome(422, "validation_failed"))
    #expect(
      try await Outcome(server.ask(.post, "/signup", #"{"data":[]}"#)) == Outcome(400, "validation_failed"))
    let list = try await server.ask(.get, "/admin/users", bearer: try await server.adminKey())
    #expect(list.fields["x-total-count"] == "0")
  }

  @Test("an access token has Supabase's claims, and ours beside them; the key set verifies it")
  func claims() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    let token = try JWS.Compact(parsing: session.accessToken)
    #expect(token.header.algorithm == "ES256" && token.header.type == "JWT")
    let response = try await server.ask(.get, "/.well-known/jwks.json")
    #expect(response.fields["cache-control"] == "public, max-age=600")
    let set = try JWKSet(parsing: try await response.body.collect(upTo: 65_536))
    try ES256.verify(token, keys: set.p256)
    let members = try await response.json["keys"]?.elements?.first?.members?.map(\.name) ?? []
    #expect(Set(members) == ["alg", "crv", "key_ops", "kid", "kty", "use", "x", "y"])
    let claims = try token.claims
    let now = server.whole.clock.seconds
    #expect(claims["iss"]?.string == AccountServer.issuer)
    #expect(claims["sub"]?.string == session.userID && claims["aud"]?.string == "authenticated")
    #expect(claims["exp"]?.integer == now + 3_600 && claims["iat"]?.integer == now)
    #expect(claims["role"]?.string == "authenticated" && claims["aal"]?.string == "aal1")
    #expect(claims["amr"]?.elements?.first?["method"]?.string == "anonymous")
    #expect(claims["session_id"]?.string.flatMap { UUID($0) } != nil)
    #expect(claims["is_anonymous"]?.bool == true && claims["attested"]?.bool == false)
    #expect(claims["auth_time"]?.integer == now && claims["acr"]?.string == "0")
    #expect(claims["email"]?.string == "" && claims["phone"]?.string == "")
  }

  @Test(
    "contract 0.5: a sign-up and a refresh never look at Authorization",
    arguments: [
      "Bearer sb_publishable_x", "Bearer eyJhbGciOiJFUzI1NiJ9.e30.AA", "Bearer ", "Basic eDp5", "garbage",
    ])
  func authorization(_ value: String) async throws {
    let server = try await AccountServer()
    let up = try await server.ask(.post, "/signup", "{}", fields: ["authorization": value])
    let session = try await ClientSession(up)
    let again = try await server.ask(
      .post, "/token?grant_type=refresh_token", #"{"refresh_token":"\#(session.refreshToken)"}"#,
      fields: ["authorization": value])
    _ = try await ClientSession(again)
  }

  @Test("RULES §6.2: every answer with a credential is no-store")
  func noStore() async throws {
    let server = try await AccountServer()
    let response = try await server.ask(.post, "/signup", "{}")
    #expect(response.fields["cache-control"] == "no-store")
    let session = try await ClientSession(response)
    #expect(try await server.refresh(session.refreshToken).fields["cache-control"] == "no-store")
  }

  @Test("sign-ups of one address are bounded, with Retry-After, and other addresses go on")
  func limit() async throws {
    let server = try await AccountServer { $0.auth?.anonymousPerHour = 3 }
    for _ in 0..<3 { _ = try await server.signUp() }
    let refused = try await server.ask(.post, "/signup", "{}")
    #expect(refused.fields["retry-after"] == "1200")
    #expect(try await Outcome(refused) == Outcome(429, "over_request_rate_limit"))
    #expect(try await server.ask(.post, "/signup", "{}", peer: "192.0.2.200").status == 200)
  }

  @Test("no line of the log holds a token, or what a user said of themself")
  func log() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp(#"{"data":{"secret":"metadata-of-mine"}}"#)
    let next = try await ClientSession(server.refresh(session.refreshToken))
    _ = try await server.ask(.get, "/user", bearer: next.accessToken)
    _ = try await server.ask(.get, "/user", bearer: next.accessToken + "x")
    _ = try await server.refresh(next.refreshToken + "x")
    let lines = server.whole.lines.values.joined()
    #expect(!lines.isEmpty)
    for secret in [session.accessToken, session.refreshToken, next.accessToken, next.refreshToken] {
      #expect(!lines.contains(secret.suffix(20)))
    }
    #expect(!lines.contains("metadata-of-mine"))
  }
}
