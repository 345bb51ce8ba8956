import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite("The hook that adds claims") struct CustomAccessTokenTests {
  private static let name = "custom_access_token"

  private static func server(_ backend: HookBackend) async throws -> AppleServer {
    try await AppleServer(
      { HookBackend.configure([name], &$0) }, outside: { try await backend.respond(to: $0) })
  }

  private static func counter(_ session: ClientSession, _ server: AppleServer) async throws -> Int64? {
    let id = try #require(UUID(try session.sessionID))
    return try await SQLAccountStore(server.server.whole.database).session(id, now: 0)?.session.counter
  }

  @Test("claims are added, changed and left out; how the user came is told")
  func claims() async throws {
    let backend = HookBackend()
    backend.answer(Self.name) { HookBackend.claims($0, [("plan", "pro"), ("email", "hidden")]) }
    let server = try await Self.server(backend)
    let guest = try await server.server.signUp()
    let linked = try await ClientSession(server.link(to: guest))
    let again = try await server.signIn()
    let refreshed = try await ClientSession(server.server.refresh(again.refreshToken))
    for session in [guest, linked, again, refreshed] {
      #expect(try session.claims["plan"]?.string == "pro")
      #expect(try session.claims["email"]?.string == "hidden")
      #expect(try session.claims["sub"]?.string == session.userID)
      // The token is good on the server's own routes.
      #expect(try await server.server.ask(.get, "/user", bearer: session.accessToken).status == 200)
    }
    #expect(
      backend.asked.values.map { $0.body["authentication_method"]?.string } == [
        "anonymous", "oauth", "oauth", "token_refresh",
      ])
    let last = try #require(backend.asked.values.last)
    #expect(last.body["user_id"]?.string == refreshed.userID)
    #expect(last.body["claims"]?["session_id"]?.string == (try refreshed.sessionID))
  }

  @Test("RULES §3.9: what is protected is never changed, added or taken away", arguments: [true, false])
  func protected(isOmitted: Bool) async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    backend.answer(Self.name) { body in
      if isOmitted {
        return HTTPResponse(
          status: 200, fields: ["Content-Type": "application/json"], body: HTTPBody(#"{"claims":{}}"#))
      }
      return HookBackend.claims(body, AccessTokenClaims.protected.sorted().map { ($0, "evil") })
    }
    let session = try await server.signIn()
    let asked = try #require(backend.asked.values.first?.body["claims"])
    for name in AccessTokenClaims.protected {
      #expect(try session.claims[name]?.value == asked[name]?.value, "\(name)")
      #expect(asked[name] != nil, "\(name)")
    }
    let names = try #require(try session.claims.members?.map(\.name))
    #expect(Set(names).count == names.count)
  }

  @Test(
    "RULES §3.9: a hook failing on refresh is 503 with Retry-After, and nothing is rotated",
    arguments: HookBackend.failures.indices)
  func refresh(index: Int) async throws {
    let backend = HookBackend()
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let server = try await Self.server(backend)
    let session = try await server.signIn()
    let before = try await Self.counter(session, server)
    let (words, answer) = HookBackend.failures[index]
    backend.answer(Self.name, answer)
    for _ in 0..<3 {
      let response = try await server.server.refresh(session.refreshToken)
      #expect(response.status == 503 && response.fields["retry-after"] == "5", "\(words)")
    }
    #expect(try await Self.counter(session, server) == before, "\(words)")
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let refreshed = try await ClientSession(server.server.refresh(session.refreshToken))
    #expect(try await Self.counter(session, server) == (before ?? 0) + 1)
    #expect(refreshed.refreshToken != session.refreshToken)
  }

  @Test("RULES §3.9: a hook that says no on refresh costs nobody the session")
  func refusedRefresh() async throws {
    let backend = HookBackend()
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let server = try await Self.server(backend)
    let session = try await server.signIn()
    for text in [
      #"{"error":{"http_code":401,"message":"no"}}"#, #"{"error":{"http_code":400,"message":"no"}}"#, "{}",
      #"{"claims":[]}"#,
    ] {
      backend.answer(Self.name, text)
      #expect(try await server.server.refresh(session.refreshToken).status == 503)
    }
    backend.answer(Self.name) {
      HookBackend.claims($0, [("x", .string(String(repeating: "x", count: 4_096)))])
    }
    #expect(try await server.server.refresh(session.refreshToken).status == 503)
  }

  @Test("RULES §3.9: on signing up and in, a hook that fails or says no lets nobody in")
  func signingIn() async throws {
    let backend = HookBackend()
    backend.answer(Self.name, #"{"error":{"http_code":403,"message":"no"}}"#)
    let server = try await Self.server(backend)
    let body = AppleServer.body(try await server.sheet())
    #expect(try await server.grant(body).status == 403)
    #expect(try await server.server.ask(.post, "/signup", "{}").status == 403)
    #expect(try await storedUsers(server.server).users(offset: 0, limit: 9).total == 0)
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let session = try await ClientSession(server.grant(body))
    // Somebody known: no token goes out, and the same request works when the hook does.
    let again = AppleServer.body(try await server.sheet())
    backend.answer(Self.name, 500, "")
    #expect(try await server.grant(again).status == 503)
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    #expect(try await ClientSession(server.grant(again)).userID == session.userID)
  }

  @Test("RULES §3.9: an access token is 4 KiB at most, else 422, and nobody is made")
  func size() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    backend.answer(Self.name) {
      HookBackend.claims($0, [("x", .string(String(repeating: "x", count: 2_900)))])
    }
    let response = try await server.server.ask(.post, "/signup", "{}")
    #expect(response.status == 422)
    #expect(try await response.json["code"]?.string == "validation_failed")
    #expect(try await storedUsers(server.server).users(offset: 0, limit: 9).total == 0)
    backend.answer(Self.name) {
      HookBackend.claims($0, [("x", .string(String(repeating: "x", count: 2_000)))])
    }
    let session = try await server.server.signUp()
    #expect(session.accessToken.utf8.count <= AccessTokenClaims.limit)
  }

  @Test("RULES §3.9: facts that change while the hook thinks are told to it again")
  func rechecked() async throws {
    let backend = HookBackend()
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let server = try await Self.server(backend)
    let session = try await server.signIn()
    let user = try #require(UUID(session.userID))
    let asked = backend.asked.values.count
    backend.answer(Self.name) { body in
      backend.answer(Self.name) {
        HookBackend.claims($0, [("seen", $0["claims"]?["app_metadata"]?.value ?? nil)])
      }
      _ = try await storedUsers(server.server).update(
        user, UserChange(appMetadata: ["plan": "pro"]), by: .server, now: server.server.whole.clock.now)
      return HookBackend.claims(body, [("seen", "old")])
    }
    let refreshed = try await ClientSession(server.server.refresh(session.refreshToken))
    #expect(try refreshed.claims["app_metadata"]?["plan"]?.string == "pro")
    #expect(try refreshed.claims["seen"]?["plan"]?.string == "pro")
    #expect(backend.asked.values.count == asked + 2)
  }

  @Test("RULES §3.5: a token that is used twice is noticed although the hook is down")
  func reuse() async throws {
    let backend = HookBackend()
    backend.answer(Self.name) { HookBackend.claims($0, []) }
    let server = try await Self.server(backend)
    let first = try await server.signIn()
    let second = try await ClientSession(server.server.refresh(first.refreshToken))
    _ = try await ClientSession(server.server.refresh(second.refreshToken))
    backend.answer(Self.name, 500, "")
    let asked = backend.asked.values.count
    let response = try await server.server.refresh(first.refreshToken)
    #expect(try await response.json["code"]?.string == "refresh_token_already_used")
    #expect(backend.asked.values.count == asked)
    #expect(try await Self.counter(first, server) == nil)
  }
}
