import BramleyAPI
import Encodings
import HTTPMessages
import Testing

@testable import Server

private let modern: HTTPFields = ["x-supabase-api-version": "2024-01-01"]

/// The wire contract of Supabase Auth, as far as no database is needed.
@Suite struct SupabaseWireTests {
  private func server(_ change: (inout Configuration) -> Void = { _ in }) throws -> BareServer {
    try BareServer {
      $0.auth = Configuration.Auth()
      change(&$0)
    }
  }

  @Test("without the section there are no accounts")
  func absent() async throws {
    #expect(try await BareServer().ask(.post, AccountTargets.signUp, body: "{}").status == 404)
  }

  @Test("contract 0.1: an error has the newer form, and the version's echo, where that is asked for")
  func newErrors() async throws {
    for version in ["2024-01-01", "2024-01-02", "2099-12-31"] {
      let response = try await server().ask(
        .post, AccountTargets.token + "?grant_type=x", ["X-Supabase-Api-Version": version], body: "{}")
      #expect(response.status == 400)
      #expect(response.fields["x-supabase-api-version"] == "2024-01-01")
      #expect(response.fields["content-type"] == "application/json")
      #expect(
        try await response.text == #"{"code":"invalid_credentials","message":"unsupported_grant_type"}"#)
    }
  }

  @Test(
    "contract 0.1: without the version, or with an older one, the older form and no echo",
    arguments: [nil, "", "2023-12-31", "1", "2024-1-1", "2024-13-01", "tomorrow..", "2024-01-01T00:00:00Z"])
  func oldErrors(_ version: String?) async throws {
    let fields = version.map { HTTPFields([("x-supabase-api-version", $0)]) } ?? [:]
    let response = try await server().ask(
      .post, AccountTargets.token + "?grant_type=x", fields, body: "{}")
    #expect(response.fields["x-supabase-api-version"] == nil)
    #expect(
      try await response.text
        == #"{"code":400,"error_code":"invalid_credentials","msg":"unsupported_grant_type"}"#)
  }

  @Test("contract 0.1: the echo is on every answer, also where no route is")
  func echo() async throws {
    let server = try server { $0.corsOrigins = ["https://app.example.com"] }
    for (method, target) in [
      (HTTPMethod.get, AccountTargets.health), (.get, AccountTargets.settings),
      (.get, "/auth/v1/nothing"), (.delete, AccountTargets.health), (.options, AccountTargets.user),
      (.get, AccountTargets.keys),
    ] {
      let response = try await server.ask(method, target, modern)
      #expect(response.fields["x-supabase-api-version"] == "2024-01-01", "\(target)")
      #expect(try await server.ask(method, target).fields["x-supabase-api-version"] == nil, "\(target)")
    }
    #expect(try await server.ask(.get, "/health", modern).fields["x-supabase-api-version"] == nil)
  }

  @Test("what is not part of the server says that it is disabled, never a bare 404")
  func disabled() async throws {
    let server = try server()
    for route in DisabledRoute.all {
      let target = route.path.replacing("{id}", with: "E106CA9A-0000-4000-8000-000000000000")
      let response = try await server.ask(route.method, target, modern, body: "{}")
      #expect(response.status == route.failure.status)
      let body = try await response.json
      #expect(body["code"]?.string?.contains(/disabled|not_enabled/) == true, "\(target)")
      #expect(body["message"]?.string?.isEmpty == false)
    }
    for (target, body, code) in [
      (AccountTargets.signUp, #"{"email":"a@example.com","password":"x"}"#, "email_provider_disabled"),
      (AccountTargets.signUp, #"{"phone":"+1"}"#, "phone_provider_disabled"),
      (AccountTargets.token + "?grant_type=password", #"{"email":"a@b.c"}"#, "email_provider_disabled"),
      (AccountTargets.token + "?grant_type=password", #"{"phone":"+1"}"#, "phone_provider_disabled"),
      (AccountTargets.token + "?grant_type=web3", "{}", "web3_provider_disabled"),
      (AccountTargets.token, "{}", "invalid_credentials"),
      (AccountTargets.token + "?grant_type=", "{}", "invalid_credentials"),
    ] {
      let response = try await server.ask(.post, target, modern, body: body)
      #expect(try await response.json["code"]?.string == code, "\(target)")
    }
  }

  @Test("an operator's switches close what they name")
  func closed() async throws {
    let anonymous = try await server { $0.auth?.anonymous = false }.ask(
      .post, AccountTargets.signUp, modern, body: "{}")
    #expect(try await Outcome(anonymous) == Outcome(422, "anonymous_provider_disabled"))
    let signUps = try await server { $0.auth?.signUps = false }.ask(
      .post, AccountTargets.signUp, modern, body: "{}")
    #expect(try await Outcome(signUps) == Outcome(422, "signup_disabled"))
    let linking = try await server { $0.auth?.manualLinking = false }.ask(
      .delete, "/auth/v1/user/identities/x", modern)
    #expect(try await Outcome(linking) == Outcome(404, "manual_linking_disabled"))
  }

  @Test("a body that is no JSON object is bad_json, and one beyond 64 KiB is 413")
  func bodies() async throws {
    let server = try server()
    for body in ["", "{", "[]", "1", "{} {}", #"{"a":1,"a":2}"#, "{\"a\":\"\u{1}\"}"] {
      let response = try await server.ask(.post, AccountTargets.signUp, modern, body: body)
      #expect(response.status == 400)
      let answer = try await response.json
      #expect(answer["code"]?.string == "bad_json", "\(body)")
      #expect(answer["message"]?.string?.hasPrefix("Could not parse request body as JSON: ") == true)
    }
    let large = #"{"data":{},"more":""# + String(repeating: "a", count: 65_536) + #""}"#
    let response = try await server.ask(.post, AccountTargets.signUp, modern, body: large)
    #expect(try await Outcome(response) == Outcome(413, "request_entity_too_large"))
  }

  @Test("contract 0.5: health, settings and discovery never look at Authorization")
  func authorization() async throws {
    let server = try server()
    for value in ["Bearer sb_publishable_x", "Bearer bat_x", "Basic eDp5", "Bearer", "", "nonsense, twice"] {
      for target in [AccountTargets.health, AccountTargets.settings, AccountTargets.discovery] {
        #expect(try await server.ask(.get, target, ["authorization": value]).status == 200)
      }
    }
    let settings = try await server.ask(.get, AccountTargets.settings, ["apiKey": "x"]).json
    #expect(settings["external"]?["anonymous_users"]?.bool == true)
    #expect(settings["external"]?["apple"]?.bool == false)
    #expect(settings["external"]?["email"]?.bool == false)
    #expect(settings["external"]?.members?.count == 27)
    #expect(settings["disable_signup"]?.bool == false)
    let health = try await server.ask(.get, AccountTargets.health).json
    #expect(health["name"]?.string == "GoTrue")
    let discovery = try await server.ask(.get, AccountTargets.discovery).json
    #expect(discovery["issuer"]?.string == "http://127.0.0.1:8080/auth/v1")
    #expect(
      discovery["jwks_uri"]?.string == "http://127.0.0.1:8080/auth/v1/.well-known/jwks.json")
  }

  @Test("contract 0.9: a database that is away is 503 with Retry-After on everything that needs it")
  func overload() async throws {
    let server = try server()
    let refresh = #"{"refresh_token":"\#(String(repeating: "A", count: 56))"}"#
    for (method, target, body, bearer) in [
      (HTTPMethod.post, AccountTargets.token + "?grant_type=refresh_token", refresh, ""),
      (.post, AccountTargets.signUp, "{}", ""), (.get, AccountTargets.keys, "", ""),
      (.get, AccountTargets.user, "", "Bearer eyJhbGciOiJFUzI1NiJ9.e30.AA"),
      (.get, AccountTargets.adminUsers, "", "Bearer sb_secret_x"),
    ] {
      let response = try await server.ask(
        method, target, HTTPFields([("authorization", bearer)]), body: body)
      #expect(response.status == 503, "\(target)")
      #expect(response.fields["retry-after"] != nil, "\(target)")
    }
  }

  @Test("RULES §6.1: only an operator's key opens the admin routes")
  func admin() async throws {
    let server = try server()
    for (value, status, code) in [
      (nil, 401, "no_authorization"), ("Basic eDp5", 401, "no_authorization"),
      ("Bearer eyJhbGciOiJFUzI1NiJ9.e30.AA", 403, "not_admin"), ("Bearer sb_publishable_x", 403, "not_admin"),
    ] as [(String?, Int, String)] {
      let fields = value.map { HTTPFields([("authorization", $0)]) } ?? [:]
      for target in [AccountTargets.adminUsers, "/auth/v1/admin/users/6F42EEB1-0000-4000-8000-000000000000"] {
        let response = try await server.ask(.get, target, fields)
        #expect(response.status == status)
        #expect(try await response.json["error_code"]?.string == code)
      }
    }
  }

  @Test("a call without an access token is 401, one with a key or a foreign token 403 bad_jwt")
  func bearers() async throws {
    let server = try server()
    for (method, target) in [
      (HTTPMethod.get, AccountTargets.user), (.put, AccountTargets.user), (.post, AccountTargets.logout),
      (.delete, "/auth/v1/user/identities/E106CA9A-0000-4000-8000-000000000000"),
    ] {
      let none = try await server.ask(method, target, modern)
      #expect(try await Outcome(none) == Outcome(401, "no_authorization"))
      #expect(none.fields["www-authenticate"] == "Bearer")
      var fields = modern
      fields["authorization"] = "Bearer sb_publishable_x"
      #expect(try await Outcome(server.ask(method, target, fields)) == Outcome(403, "bad_jwt"))
    }
  }

  @Test("supabase-js may ask from a listed origin")
  func crossOrigin() async throws {
    let server = try server { $0.corsOrigins = ["https://app.example.com"] }
    let preflight = try await server.ask(
      .options, AccountTargets.user,
      ["origin": "https://app.example.com", "access-control-request-method": "PUT"])
    #expect(preflight.status == 204)
    #expect(preflight.fields["access-control-allow-methods"] == "GET, PUT, DELETE, HEAD, OPTIONS")
    let allowed = preflight.fields["access-control-allow-headers"]?.split(separator: ", ") ?? []
    for name in [
      "authorization", "content-type", "apikey", "x-client-info", "x-supabase-api-version", "x-attest-key-id",
      "x-attest-assertion", "x-attest-challenge",
    ] {
      #expect(allowed.contains(Substring(name)), "\(name)")
    }
    #expect(preflight.fields["access-control-allow-credentials"] == nil)
    let answer = try await server.ask(.get, AccountTargets.health, ["origin": "https://app.example.com"])
    let exposed = answer.fields["access-control-expose-headers"]?.split(separator: ", ") ?? []
    for name in ["x-total-count", "link", "x-supabase-api-version", "www-authenticate", "retry-after"] {
      #expect(exposed.contains(Substring(name)), "\(name)")
    }
    let template = try await server.ask(
      .options, "/auth/v1/user/identities/E106CA9A-0000-4000-8000-000000000000",
      ["origin": "https://app.example.com", "access-control-request-method": "DELETE"])
    #expect(template.fields["access-control-allow-methods"] == "DELETE, OPTIONS")
  }

  @Test("RULES §6.2: no answer below /auth is kept, but for what is published")
  func cache() async throws {
    let server = try server()
    for target in ["/signup", "/token?grant_type=refresh_token", "/logout", "/nothing"] {
      let response = try await server.ask(.post, "/auth/v1" + target, body: "{}")
      #expect(response.fields["cache-control"] == "no-store", "\(target)")
    }
  }
}
