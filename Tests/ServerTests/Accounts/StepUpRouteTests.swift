import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

/// Routes that demand a recent sign-in because the operator wants so.
@Suite struct StepUpRouteTests {
  private static let messages = "/ai/anthropic/v1/messages"

  private func answer(_ server: AppleServer, _ session: ClientSession?) async throws -> Outcome {
    try await Outcome(server.server.ask(.get, "/user", bearer: session?.accessToken))
  }

  @Test("RFC 9470: a route of the account's wants a recent sign-in, and a re-authentication opens it")
  func account() async throws {
    let apple = try await AppleServer {
      $0.auth?.stepUpRoutes = [.init(route: "/auth/v1/user", maximumAge: 600)]
    }
    let session = try await apple.signIn()
    #expect(try await answer(apple, session).status == 200)
    apple.server.whole.clock.advance(seconds: 601)
    let response = try await apple.server.ask(.get, "/user", bearer: session.accessToken)
    #expect(
      response.fields["www-authenticate"]
        == #"Bearer error="insufficient_user_authentication", max_age="600""#)
    #expect(try await response.json["max_age"]?.integer == 600)
    let change = try await apple.server.ask(.put, "/user", #"{"data":{"a":1}}"#, bearer: session.accessToken)
    #expect(try await Outcome(change) == Outcome(401, "insufficient_user_authentication"))
    // A refresh is no sign-in.
    let refreshed = try await ClientSession(apple.server.refresh(session.refreshToken))
    #expect(try await answer(apple, refreshed).status == 401)
    let challenge = try await apple.challenge("reauthenticate", bearer: refreshed.accessToken).json
    let renewed = try await ClientSession(
      apple.grant(
        AppleServer.body(
          apple.sheet(raw: challenge["challenge"]?.string ?? ""), [("reauthenticate", true)]),
        bearer: refreshed.accessToken))
    #expect(try await answer(apple, renewed).status == 200)
    // Whoever has no identity has nothing to sign in with again.
    let guest = try await apple.server.signUp()
    apple.server.whole.clock.advance(seconds: 1_000)
    #expect(try await answer(apple, guest).status == 200)
    // Others are as they were.
    #expect(try await apple.server.ask(.post, "/logout", bearer: renewed.accessToken).status == 204)
  }

  @Test("a provider's route asks for the access token first, and a refusal uses nothing up")
  func provider() async throws {
    let apple = try await AppleServer {
      $0.anthropic?.policy = .assertion
      $0.auth?.stepUpRoutes = [.init(route: Self.messages, maximumAge: 300)]
    }
    let whole = apple.server.whole
    let session = try await apple.signIn()
    let phone = try await whole.phone()
    #expect(try await phone.ask().status == 401)
    whole.clock.advance(seconds: 301)
    var question = Phone.question()
    question.fields["authorization"] = "Bearer \(session.accessToken)"
    let request = try await phone.sign(question)
    let stale = try await whole.send(request)
    #expect(stale.status == 401)
    #expect(stale.fields["www-authenticate"]?.hasSuffix(#"max_age="300""#) == true)
    #expect(whole.upstreamRequests.values.isEmpty)
    let challenge = try await apple.challenge("reauthenticate", bearer: session.accessToken).json
    _ = try await ClientSession(
      apple.grant(
        AppleServer.body(
          apple.sheet(raw: challenge["challenge"]?.string ?? ""), [("reauthenticate", true)]),
        bearer: session.accessToken))
    // The very request that was refused: its assertion was not used up.
    #expect(try await whole.send(request).status == 200)
    #expect(try await whole.send(request).status != 200, "and once it is, it is")
  }

  @Test("a route that is misspelt is a mistake: it would be open")
  func configuration() throws {
    func read(_ routes: String) throws(ConfigurationMistakes) -> Configuration {
      try Configuration.read(
        ConfigurationSources(text: Array(#"{ "auth": { "step_up_routes": \#(routes) } }"#.utf8)))
    }
    let good = try read(#"[{ "route": "/auth/v1/user" }, { "route": "/auth/v1/logout", "maximum_age": 60 }]"#)
    #expect(
      good.auth?.stepUpRoutes == [
        .init(route: "/auth/v1/user", maximumAge: 300), .init(route: "/auth/v1/logout", maximumAge: 60),
      ])
    for routes in [
      #"[{ "route": "/auth/v1/users" }]"#, #"[{ "route": "/ai/anthropic/v1/messages" }]"#, "[{}]",
      #"[{ "route": "/auth/v1/user", "maximum_age": 1 }]"#, #"[{ "route": "/auth/v1/token" }]"#,
      #"[{ "route": "/auth/v1/user", "age": 300 }]"#,
    ] {
      #expect(throws: ConfigurationMistakes.self, "\(routes)") { try read(routes) }
    }
  }
}
