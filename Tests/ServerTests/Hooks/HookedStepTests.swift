import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// What a hook that is asked of a token leaves of the step that the token is for.
@Suite("Steps that a hook is asked of") struct HookedStepTests {
  private static let name = "custom_access_token"

  enum Step: String, CaseIterable {
    case signIn, link, reauthenticate, switchOver, retired
  }

  /// Everybody who is needed, with a hook that works, and the request of one step.
  private struct Case {
    let backend = HookBackend()
    let apple: AppleServer
    let owner: ClientSession
    let guest: ClientSession
    let send: @Sendable () async throws -> HTTPResponse

    init(_ step: Step) async throws {
      let backend = backend
      backend.answer(HookedStepTests.name) { HookBackend.claims($0, []) }
      let apple = try await AppleServer(
        { HookBackend.configure([HookedStepTests.name], &$0) }, outside: { try await backend.respond(to: $0) }
      )
      try await SQLEventOutbox(apple.server.whole.database).subscribe(
        [EventSubscription(url: "https://backend.example/events", kinds: Set(OutgoingEvent.Kind.allCases))])
      let owner = try await apple.signIn()
      let guest = try await apple.server.signUp()
      (self.apple, self.owner, self.guest) = (apple, owner, guest)
      apple.server.whole.clock.advance(seconds: 60)
      switch step {
      case .signIn:
        let body = AppleServer.body(try await apple.sheet())
        send = { try await apple.grant(body) }
      case .link:
        let body = AppleServer.body(try await apple.sheet(AppleServer.grace), [("link_identity", true)])
        send = { try await apple.grant(body, bearer: guest.accessToken) }
      case .reauthenticate:
        let challenge = try await apple.challenge("reauthenticate", bearer: owner.accessToken).json
        let sheet = try await apple.sheet(raw: challenge["challenge"]?.string ?? "")
        let body = AppleServer.body(sheet, [("reauthenticate", true)])
        send = { try await apple.grant(body, bearer: owner.accessToken) }
      case .switchOver:
        let ticket = try await apple.link(to: guest).json["switch_ticket"]?.string ?? ""
        send = {
          try await apple.server.ask(
            .post, "/switch", #"{"switch_ticket":"\#(ticket)"}"#, bearer: guest.accessToken)
        }
      case .retired:
        // Whoever lost the answer to a link refreshes the session that it retired.
        #expect(try await apple.link(AppleServer.grace, to: guest).status == 200)
        send = { try await apple.server.refresh(guest.refreshToken) }
      }
    }

    /// What is stored, in words that change with it.
    func stored() async throws -> [String] {
      try await apple.server.whole.database.read { transaction in
        try await transaction.rows(
          """
          select group_concat(x) from (select hex(id) || is_anonymous || updated_at || coalesce(last_sign_in_at, 0)
            || coalesce(deleting_since, 0) x from users order by id)
          union all select group_concat(x) from (select hex(id) || counter || auth_time || methods
            || coalesce(hex(successor), '') x from sessions order by id)
          union all select group_concat(x) from
            (select hex(id) || hex(user_id) || updated_at || consent_at x from identities order by id)
          union all select count(*) from used_identity_tokens
          union all select count(*) from apple_challenges
          union all select count(*) from switch_tickets where used_at is not null
          union all select count(*) from audit_log
          union all select count(*) from outgoing_events
          union all select count(*) from deletions
          """
        ) { $0.string(0) }
      }
    }
  }

  @Test(
    "RULES §3.9: a hook that fails leaves nothing changed, and the same request works later",
    arguments: Step.allCases)
  func failing(step: Step) async throws {
    let run = try await Case(step)
    let before = try await run.stored()
    let refuses: HookBackend.Answer = { _ in Self.refusal }
    for (words, answer) in HookBackend.failures + [("says no", refuses)] {
      run.backend.answer(Self.name, answer)
      let response = try await run.send()
      #expect(response.status == 503 || words == "says no" && response.status == 403, "\(words)")
      #expect(try await run.stored() == before, "\(words)")
    }
    // Longer than a request that was carried out could be repeated (RULES §3.6).
    run.apple.server.whole.clock.advance(seconds: 180)
    run.backend.answer(Self.name) { HookBackend.claims($0, [("plan", "pro")]) }
    let asked = run.backend.asked.values.count
    let session = try await ClientSession(run.send())
    #expect(try session.claims["plan"]?.string == "pro")
    #expect(run.backend.asked.values.count == asked + 1)
    #expect(try await run.stored() != before)
    #expect(try await run.apple.server.ask(.get, "/user", bearer: session.accessToken).status == 200)
  }

  @Test(
    "RULES §3.9: what happens while the hook thinks is looked at inside: nobody gets in who may not by then",
    arguments: [Step.signIn, .reauthenticate, .switchOver])
  func banned(step: Step) async throws {
    let run = try await Case(step)
    let owner = try #require(UUID(run.owner.userID))
    let users = storedUsers(run.apple.server)
    let now = run.apple.server.whole.clock.now
    run.backend.answer(Self.name) { body in
      _ = try await users.update(owner, UserChange(bannedUntil: .max), by: .server, now: now)
      return HookBackend.claims(body, [])
    }
    #expect(try await Outcome(run.send()) == Outcome(403, "user_banned"))
  }

  @Test("RULES §3.9: facts that never hold still are given up, and nothing is changed")
  func restless() async throws {
    let run = try await Case(.signIn)
    let owner = try #require(UUID(run.owner.userID))
    let users = storedUsers(run.apple.server)
    let sessions = try await run.stored()[1]
    let now = run.apple.server.whole.clock.now
    let count = Recorder<Int>()
    run.backend.answer(Self.name) { body in
      count.append(1)
      let change = UserChange(appMetadata: ["n": .integer(Int64(count.values.count))])
      _ = try await users.update(owner, change, by: .server, now: now)
      return HookBackend.claims(body, [])
    }
    #expect(try await Outcome(run.send()) == Outcome(503, "unavailable"))
    #expect(try await run.stored()[1] == sessions)
    #expect(count.values.count == 4)
  }

  @Test("RULES §3.6: the same request twice at once is one session, whatever the hook is slow with")
  func twice() async throws {
    let run = try await Case(.signIn)
    let isFirst = Recorder<Int>()
    let arrived = Signal()
    run.backend.answer(Self.name) { body in
      isFirst.append(1)
      // The first waits until the second was carried out.
      if isFirst.values.count == 1 { await arrived.wait() }
      return HookBackend.claims(body, [])
    }
    let first = Task { try await ClientSession(run.send()) }
    while isFirst.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
    let second = try await ClientSession(run.send())
    arrived.send()
    #expect(try await first.value.sessionID == second.sessionID)
  }

  private static let refusal = HTTPResponse(
    status: 200, fields: ["Content-Type": "application/json"],
    body: HTTPBody(#"{"error":{"http_code":403,"message":"no"}}"#))
}
