import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct StepUpTests {
  /// The body of a re-authentication with a challenge of the purpose.
  private func body(
    _ apple: AppleServer, _ account: String = AppleServer.ada, challenge: String
  ) async throws -> String {
    try await AppleServer.body(apple.sheet(account, raw: challenge), [("reauthenticate", true)])
  }

  private func challenge(
    _ apple: AppleServer, _ purpose: String, _ session: ClientSession?
  ) async throws -> String {
    let answer = try await apple.challenge(purpose, bearer: session?.accessToken).json
    let challenge = answer["challenge"]?.string ?? ""
    #expect(answer["nonce"]?.string == Hex.encode(SHA256.hash(challenge)))
    return challenge
  }

  @Test("RULES §3.2: ending other sessions wants a fresh sign-in, in the words of RFC 9470")
  func stale() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    apple.server.whole.clock.advance(seconds: 301)
    let response = try await apple.server.ask(.post, "/logout?scope=others", bearer: session.accessToken)
    #expect(response.status == 401)
    #expect(
      response.fields.values("www-authenticate")
        == [#"Bearer error="insufficient_user_authentication", max_age="300""#])
    let answer = try await response.json
    #expect(answer["code"]?.string == "insufficient_user_authentication")
    #expect(answer["max_age"]?.integer == 300)
    #expect(try await apple.server.ask(.post, "/logout", bearer: session.accessToken).status == 204)
  }

  @Test("RULES §3.3: the same identity renews auth_time, and the session stays")
  func renewed() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    apple.server.whole.clock.advance(seconds: 3_000)
    let text = try await challenge(apple, "reauthenticate", session)
    let response = try await apple.grant(body(apple, challenge: text), bearer: session.accessToken)
    let renewed = try await ClientSession(response)
    #expect(try renewed.sessionID == session.sessionID)
    #expect(try renewed.claims["auth_time"]?.integer == apple.server.whole.clock.seconds)
    #expect(
      try await apple.server.ask(.post, "/logout?scope=others", bearer: renewed.accessToken).status == 204)
    let later = try await ClientSession(apple.server.refresh(renewed.refreshToken))
    #expect(try later.claims["auth_time"]?.integer == renewed.claims["auth_time"]?.integer)
  }

  @Test("RULES §3.2: a sign-in of a clock that ran ahead is no recent one when the clock is set right")
  func clock() async throws {
    let apple = try await AppleServer()
    apple.server.whole.clock.advance(seconds: 86_400)
    let session = try await apple.signIn()
    apple.server.whole.clock.advance(seconds: -86_400)
    let stale = try await apple.server.ask(.post, "/logout?scope=others", bearer: session.accessToken)
    #expect(try await Outcome(stale) == Outcome(401, "insufficient_user_authentication"))
    let text = try await challenge(apple, "reauthenticate", session)
    let renewed = try await ClientSession(
      apple.grant(body(apple, challenge: text), bearer: session.accessToken))
    #expect(try renewed.claims["auth_time"]?.integer == apple.server.whole.clock.seconds)
    #expect(
      try await apple.server.ask(.post, "/logout?scope=others", bearer: renewed.accessToken).status == 204)
  }

  @Test("RULES §3.3: a bearer whose session has ended is 401 as well, and signs nobody in")
  func ended() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let good = try await body(apple, challenge: challenge(apple, "reauthenticate", session))
    #expect(try await apple.server.ask(.post, "/logout", bearer: session.accessToken).status == 204)
    let response = try await apple.grant(good, bearer: session.accessToken)
    #expect(try await Outcome(response) == Outcome(401, "session_not_found"))
  }

  @Test("RULES §3.3: without a bearer it is 401, with the identity of another user_mismatch")
  func refused() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let other = try await apple.signIn(AppleServer.grace)
    let text = try await challenge(apple, "reauthenticate", session)
    let good = try await body(apple, challenge: text)
    #expect(try await apple.grant(good).status == 401)
    let none = try await apple.server.whole.send(
      HTTPRequest(
        method: .post, target: "/auth/v1/token?grant_type=id_token", body: HTTPBody(good), peer: "192.0.2.1"))
    #expect(none.status == 401)
    // The challenge is the other session's.
    #expect(try await apple.grant(good, bearer: other.accessToken).status >= 400)
    let foreign = try await challenge(apple, "reauthenticate", session)
    let grace = try await body(apple, AppleServer.grace, challenge: foreign)
    #expect(
      try await Outcome(apple.grant(grace, bearer: session.accessToken)) == Outcome(403, "user_mismatch"))
    let own = try await AppleServer.body(apple.sheet(), [("reauthenticate", true)])
    #expect(
      try await Outcome(apple.grant(own, bearer: session.accessToken)) == Outcome(400, "nonce_mismatch"))
    for purpose in ["sign_in", "link", "delete"] {
      let wrong = try await challenge(apple, purpose, session)
      let sent = try await body(apple, challenge: wrong)
      #expect(
        try await Outcome(apple.grant(sent, bearer: session.accessToken))
          == Outcome(400, "challenge_invalid"),
        "\(purpose)")
    }
  }

  @Test("RULES §2.1: a challenge of ours answers once, within ten minutes, what it was made for")
  func challenges() async throws {
    let apple = try await AppleServer { $0.auth?.apple?.requireChallenge = true }
    let own = try await apple.grant(AppleServer.body(apple.sheet()))
    #expect(try await Outcome(own) == Outcome(400, "nonce_mismatch"))
    let text = try await challenge(apple, "sign_in", nil)
    _ = try await ClientSession(apple.grant(AppleServer.body(apple.sheet(raw: text))))
    let used = try await apple.grant(AppleServer.body(apple.sheet(raw: text)))
    #expect(try await Outcome(used) == Outcome(400, "challenge_invalid"))
    let made = AppleSignIn.challenge(random: SecureRandom.bytes(32))
    let unknown = try await apple.grant(AppleServer.body(apple.sheet(raw: made)))
    #expect(try await Outcome(unknown) == Outcome(400, "challenge_invalid"))
    let late = try await challenge(apple, "sign_in", nil)
    apple.server.whole.clock.advance(seconds: 601)
    let over = try await apple.grant(AppleServer.body(apple.sheet(raw: late)))
    #expect(try await Outcome(over) == Outcome(400, "challenge_invalid"))
  }

  @Test("a challenge is for a purpose that there is, a client that is configured, and a bearer")
  func asking() async throws {
    let apple = try await AppleServer()
    #expect(try await Outcome(apple.challenge("fun")) == Outcome(400, "validation_failed"))
    #expect(try await Outcome(apple.challenge("link")) == Outcome(403, "bad_jwt"))
    let client = try await apple.server.ask(.post, "/apple/challenge", #"{"client_id":"com.example.other"}"#)
    #expect(try await Outcome(client) == Outcome(400, "validation_failed"))
    #expect(try await apple.server.ask(.post, "/apple/challenge").status == 200)
    let without = try await AccountServer().ask(.post, "/apple/challenge", "{}")
    #expect(try await Outcome(without) == Outcome(400, "provider_disabled"))
  }
}
