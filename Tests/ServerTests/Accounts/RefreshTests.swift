import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct RefreshTests {
  @Test("a refresh keeps session, user and amr, and rotates the token")
  func rotation() async throws {
    let server = try await AccountServer()
    let first = try await server.signUp()
    server.whole.clock.advance(seconds: 600)
    let second = try await ClientSession(server.refresh(first.refreshToken))
    #expect(second.refreshToken != first.refreshToken && second.accessToken != first.accessToken)
    #expect(try second.sessionID == first.sessionID)
    #expect(second.userID == first.userID)
    #expect(try second.claims["amr"]?.value == first.claims["amr"]?.value)
    #expect(try second.claims["auth_time"]?.integer == first.claims["auth_time"]?.integer)
    #expect(second.user["last_sign_in_at"]?.string == first.user["last_sign_in_at"]?.string)
    #expect(second.expiresAt == first.expiresAt + 600)
  }

  @Test("RULES §3.4: the parent of the active token gets the active one, without a limit of time")
  func parent() async throws {
    let server = try await AccountServer()
    let first = try await server.signUp()
    let second = try await ClientSession(server.refresh(first.refreshToken))
    for wait in [0, 10, 86_400, 86_400 * 400] as [Int64] {
      server.whole.clock.advance(seconds: wait)
      let again = try await ClientSession(server.refresh(first.refreshToken))
      #expect(again.refreshToken == second.refreshToken)
    }
  }

  @Test("RULES §3.4: fifty that race with one token all succeed, with one next token")
  func race() async throws {
    let server = try await AccountServer()
    let first = try await server.signUp()
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 {
        group.addTask { try await ClientSession(server.refresh(first.refreshToken)).refreshToken }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(tokens.count == 1 && !tokens.contains(first.refreshToken))
  }

  @Test("RULES §3.5: an older token of an anonymous session is refused, and the session lives on")
  func reuse() async throws {
    let server = try await AccountServer()
    let first = try await server.signUp()
    let second = try await ClientSession(server.refresh(first.refreshToken))
    let third = try await ClientSession(server.refresh(second.refreshToken))
    let reused = try await server.refresh(first.refreshToken)
    #expect(reused.status == 400)
    #expect(
      try await reused.text
        == #"{"code":"refresh_token_already_used","message":"Invalid Refresh Token: Already Used"}"#)
    _ = try await ClientSession(server.refresh(third.refreshToken))
    #expect(server.whole.lines.values.contains { $0.contains("refresh_token_reused") })
    #expect(server.whole.server.metrics.text.contains("bramley_refresh_reuses_total 1"))
  }

  @Test("what is no refresh token of this server is told by its shape")
  func foreign() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    for (token, code) in [
      ("abcdefghijkl", "validation_failed"), ("", "validation_failed"),
      (String(repeating: "A", count: 56), "refresh_token_not_found"),
      (
        session.refreshToken.dropLast() + (session.refreshToken.hasSuffix("A") ? "B" : "A"),
        "refresh_token_not_found"
      ),
      (session.accessToken, "validation_failed"),
    ] as [(any StringProtocol, String)] {
      #expect(try await Outcome(server.refresh(String(token))) == Outcome(400, code))
    }
    for body in ["{}", #"{"refresh_token":null}"#, #"{"refresh_token":1}"#] {
      let response = try await server.ask(.post, "/token?grant_type=refresh_token", body)
      #expect(try await Outcome(response) == Outcome(400, "validation_failed"))
    }
  }

  @Test("contract 0.9: a session that is refreshed too often is told 503 with Retry-After, and no other one")
  func limit() async throws {
    let server = try await AccountServer { $0.auth?.refreshesPerMinute = 2 }
    let session = try await server.signUp()
    let other = try await server.signUp()
    for _ in 0..<2 { _ = try await ClientSession(server.refresh(session.refreshToken)) }
    let busy = try await server.refresh(session.refreshToken)
    #expect(busy.status == 503 && busy.fields["retry-after"] != nil)
    _ = try await ClientSession(server.refresh(other.refreshToken))
    server.whole.clock.advance(seconds: 60)
    _ = try await ClientSession(server.refresh(session.refreshToken))
  }

  @Test("RULES §3.5: who holds an old token elsewhere does not keep the owner from refreshing")
  func limitOfThief() async throws {
    let server = try await AccountServer { $0.auth?.refreshesPerMinute = 4 }
    let stolen = try await server.signUp()
    let second = try await ClientSession(server.refresh(stolen.refreshToken))
    let third = try await ClientSession(server.refresh(second.refreshToken))
    var statuses: [Int] = []
    for _ in 0..<6 {
      let response = try await server.ask(
        .post, "/token?grant_type=refresh_token", #"{"refresh_token":"\#(stolen.refreshToken)"}"#,
        peer: "198.51.100.7")
      statuses.append(response.status)
    }
    #expect(statuses == [400, 400, 400, 400, 503, 503])
    _ = try await ClientSession(server.refresh(third.refreshToken))
  }

  @Test("contract 0.9: a body that comes too slowly costs no session either")
  func slow() async throws {
    final class Slow: HTTPBodyStream {
      func next() async throws -> [UInt8]? { throw HTTPBodyError.timedOut }
      func cancel() {}
    }
    let server = try await AccountServer()
    let response = try await server.whole.send(
      HTTPRequest(
        method: .post, target: "/auth/v1/token?grant_type=refresh_token", body: HTTPBody(stream: Slow()),
        peer: "192.0.2.1"))
    #expect(response.status == 503 && response.fields["retry-after"] != nil)
    #expect(response.fields["connection"] == "close")
  }

  @Test("a session's life and its inactivity end it, each in its own words")
  func ends() async throws {
    let server = try await AccountServer {
      $0.auth?.sessionLifetime = 3_600
      $0.auth?.sessionInactivity = 1_000
    }
    let idle = try await server.signUp()
    server.whole.clock.advance(seconds: 1_001)
    let inactive = try await server.refresh(idle.refreshToken).json
    #expect(inactive["code"]?.string == "session_expired")
    #expect(inactive["message"]?.string == "Invalid Refresh Token: Session Expired (Inactivity)")
    var session = try await server.signUp()
    for _ in 0..<4 {
      server.whole.clock.advance(seconds: 800)
      session = try await ClientSession(server.refresh(session.refreshToken))
    }
    server.whole.clock.advance(seconds: 800)
    let expired = try await server.refresh(session.refreshToken).json
    #expect(expired["message"]?.string == "Invalid Refresh Token: Session Expired")
  }

  @Test(
    "RULES §3.5: an attested sign-up is the key's session, and by default is refreshed with an assertion",
    arguments: [RefreshBinding.prefer, .require])
  func bound(binding: RefreshBinding) async throws {
    let server = try await AccountServer { $0.auth?.bindRefresh = binding }
    let phone = try await server.whole.phone()
    let up = HTTPRequest(
      method: .post, target: "/auth/v1/signup", body: HTTPBody("{}"), peer: "192.0.2.1")
    let response = try await server.whole.send(try await phone.sign(up))
    #expect(response.fields["x-attest-next-challenge"] != nil)
    let session = try await ClientSession(response)
    #expect(try session.claims["attested"]?.bool == true)
    #expect(
      try await Outcome(server.refresh(session.refreshToken)) == Outcome(401, "attestation_required"))
    let refresh = HTTPRequest(
      method: .post, target: "/auth/v1/token?grant_type=refresh_token",
      body: HTTPBody(#"{"refresh_token":"\#(session.refreshToken)"}"#), peer: "192.0.2.1")
    let signed = try await phone.sign(refresh)
    _ = try await ClientSession(server.whole.send(signed))
    #expect(try await Outcome(server.whole.send(signed)) == Outcome(401, "counter_replayed"))
    let stranger = try await server.whole.phone()
    let foreign = try await server.whole.send(try await stranger.sign(refresh))
    // It may be the app installed anew, whose user could never come back.
    if binding == .prefer {
      _ = try await ClientSession(foreign)
    } else {
      #expect(try await Outcome(foreign) == Outcome(401, "attestation_required"))
    }
  }

  @Test("evidence that does not hold is never as good as none")
  func badEvidence() async throws {
    let server = try await AccountServer()
    for fields in [
      ["x-attest-key-id": "AAAA"],
      ["x-attest-key-id": "x", "x-attest-assertion": "x", "x-attest-challenge": "x"],
    ] as [HTTPFields] {
      #expect(try await server.ask(.post, "/signup", "{}", fields: fields).status == 400)
    }
  }
}
