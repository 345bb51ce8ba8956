import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct AdminUserTests {
  @Test("users are listed by pages, with the headers that clients take apart by hand")
  func list() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    var ids: [String] = []
    for _ in 0..<5 {
      ids.append(try await server.signUp().userID)
      server.whole.clock.advance(seconds: 1)
    }
    for target in ["/admin/users", "/admin/users?page=&per_page=", "/admin/users?page=1&per_page=50"] {
      let response = try await server.ask(.get, target, bearer: key)
      #expect(response.fields["x-total-count"] == "5")
      #expect(response.fields["link"] == #"</auth/v1/admin/users?page=1&per_page=50>; rel="last""#)
      let body = try await response.json
      #expect(body["aud"]?.string == "authenticated")
      #expect(body["users"]?.elements?.compactMap { $0["id"]?.string } == ids.reversed())
      for user in body["users"]?.elements ?? [] { try ClientSession.requireUser(user) }
    }
    let second = try await server.ask(.get, "/admin/users?page=2&per_page=2", bearer: key)
    #expect(
      second.fields["link"]
        == #"</auth/v1/admin/users?page=3&per_page=2>; rel="next", "#
        + #"</auth/v1/admin/users?page=3&per_page=2>; rel="last""#)
    #expect(try await second.json["users"]?.elements?.count == 2)
    #expect(try await server.ask(.get, "/admin/users?page=9", bearer: key).json["users"]?.elements == [])
    for query in ["page=0", "page=-1", "page=x", "per_page=1.5", "page=99999999999999999999"] {
      #expect(
        try await Outcome(server.ask(.get, "/admin/users?" + query, bearer: key))
          == Outcome(400, "validation_failed"))
    }
  }

  @Test("RULES §3.11: an address that an operator types is confirmed only where they say so")
  func confirmation() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let path = "/admin/users/\(try await server.signUp().userID)"
    for (body, isConfirmed) in [
      (#"{"email":"a@example.com"}"#, false), (#"{"email_confirm":true}"#, true),
      (#"{"email":"a@example.com"}"#, true), (#"{"email":"b@example.com"}"#, false),
      (#"{"email":"c@example.com","email_confirm":true}"#, true),
    ] {
      let user = try await server.ask(.put, path, body, bearer: key).json
      #expect((user["email_confirmed_at"]?.string != nil) == isConfirmed, "\(body)")
    }
  }

  @Test("RULES §3.9: nobody is made whose access token would be longer than 4 KiB")
  func tooLarge() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let body = #"{"app_metadata":{"a":"\#(String(repeating: "x", count: 3_000))"}}"#
    let response = try await server.ask(.post, "/admin/users", body, bearer: key)
    #expect(try await Outcome(response) == Outcome(422, "validation_failed"))
    #expect(try await server.ask(.get, "/admin/users", bearer: key).json["users"]?.elements == [])
  }

  @Test("a user is read, changed and deleted by an id in either case")
  func one() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let session = try await server.signUp(#"{"data":{"kept":1}}"#)
    let path = "/admin/users/" + session.userID.uppercased()
    #expect(try await server.ask(.get, path, bearer: key).text == session.user.value.text)
    let changed = try await server.ask(
      .put, path, #"{"app_metadata":{"plan":"pro"},"user_metadata":{"more":2},"email":null}"#, bearer: key)
    let user = try await changed.json
    #expect(user["app_metadata"]?.value.text == #"{"plan":"pro"}"#)
    #expect(user["user_metadata"]?.value.text == #"{"kept":1,"more":2}"#)
    let next = try await ClientSession(server.refresh(session.refreshToken))
    #expect(try next.claims["app_metadata"]?["plan"]?.string == "pro")
    let gone = try await server.ask(.delete, path, bearer: key)
    #expect(gone.status == 200)
    #expect(try await gone.text == "{}")
    for method in [HTTPMethod.get, .delete] {
      #expect(try await Outcome(server.ask(method, path, bearer: key)) == Outcome(404, "user_not_found"))
    }
    #expect(
      try await Outcome(server.ask(.put, path, "{}", bearer: key)) == Outcome(404, "user_not_found"))
    // Nor is the id given to anybody else.
    let id = path.split(separator: "/").last ?? ""
    let again = try await server.ask(.post, "/admin/users", #"{"id":"\#(id)"}"#, bearer: key)
    #expect(try await Outcome(again) == Outcome(422, "user_already_exists"))
    let odd = try await server.ask(.get, "/admin/users/42", bearer: key)
    #expect(try await odd.json["message"]?.string == "user_id must be an UUID")
  }

  @Test("a user is made with an id of the operator's, and without an address")
  func create() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let id = "6F42EEB1-1111-4222-8333-444444444444"
    let body = #"{"id":"\#(id)","user_metadata":{"name":"x"},"email":null,"email_confirm":null}"#
    let made = try await server.ask(.post, "/admin/users", body, bearer: key)
    #expect(made.status == 200)
    let user = try await made.json
    try ClientSession.requireUser(user)
    #expect(user["id"]?.string == id.lowercased() && user["is_anonymous"]?.bool == false)
    #expect(
      try await Outcome(server.ask(.post, "/admin/users", body, bearer: key))
        == Outcome(422, "user_already_exists"))
    let address = #"{"email":"Some@Example.com","email_confirm":true}"#
    let named = try await server.ask(.post, "/admin/users", address, bearer: key).json
    #expect(named["email"]?.string == "some@example.com")
    #expect(named["email_confirmed_at"]?.string != nil)
    #expect(
      try await Outcome(server.ask(.post, "/admin/users", address, bearer: key))
        == Outcome(422, "email_exists"))
    let long = #"{"app_metadata":{"a":""# + String(repeating: "a", count: 4_096) + #""}}"#
    #expect(
      try await Outcome(server.ask(.post, "/admin/users", long, bearer: key))
        == Outcome(422, "validation_failed"), "RULES §3.9")
    let path = "/admin/users/" + id
    #expect(
      try await Outcome(server.ask(.put, path, long, bearer: key)) == Outcome(422, "validation_failed"))
    for body in [
      #"{"id":"x"}"#, #"{"email":"x"}"#, #"{"email":"a b@c"}"#, #"{"email":"@"}"#,
      #"{"ban_duration":"1 year"}"#, #"{"password":"x"}"#,
    ] {
      #expect(
        try await Outcome(server.ask(.post, "/admin/users", body, bearer: key))
          == Outcome(400, "validation_failed"), "\(body)")
    }
  }

  @Test("RULES §6.1: neither an access token nor a revoked key opens the operators' routes")
  func keys() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    #expect(
      try await Outcome(server.ask(.get, "/admin/users", bearer: session.accessToken))
        == Outcome(403, "not_admin"))
    let key = try await server.adminKey()
    #expect(try await server.ask(.get, "/admin/users", bearer: key).status == 200)
    #expect(
      try await Outcome(server.ask(.get, "/admin/users", bearer: key + "x")) == Outcome(403, "not_admin"))
    #expect(!server.whole.lines.values.joined().contains(key.suffix(20)))
  }

  @Test("durations are read as Go writes them")
  func durations() {
    for (text, milliseconds) in [
      ("24h", 86_400_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000), ("300ms", 300), ("2m0.5s", 120_500),
      ("876000h", 876_000 * 3_600_000),
    ] as [(String, Int64)] {
      #expect(Ban(text) == .lasting(milliseconds))
    }
    #expect(Ban("none") == Ban.none)
    for text in ["", "24", "h", "1d", "-1h", "1h-", "1e3h", "inf", "nanh", "9999999999999h", "1hh", "0s"] {
      #expect(Ban(text) == nil, "\(text)")
    }
  }
}
