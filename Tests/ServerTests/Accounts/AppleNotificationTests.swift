import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import SignInWithApple
import Stores
import Testing

@testable import Server

@Suite struct AppleNotificationTests {
  private static let unavailable = Outcome(503, "unavailable")
  private static let refused = Outcome(401, "notification_invalid")

  @Test("who withdraws consent is signed out, keeps the account, and comes back as the same")
  func revoked() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    let other = try await apple.signIn(AppleServer.grace)
    #expect(try await apple.stored().count == 1)
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.revokeConsent(
      account: AppleServer.ada, client: AppleServer.app)
    #expect(try await apple.deliver(notification).status == 200)
    #expect(try await apple.isLive(session) == false)
    #expect(try await apple.server.refresh(session.refreshToken).status == 400)
    #expect(try await apple.isLive(other))
    #expect(try await apple.stored().isEmpty)
    let admin = try await apple.server.adminKey()
    let shown = try await apple.server.ask(.get, "/admin/users/\(session.userID)", bearer: admin).json
    #expect(shown["identities"]?.elements?.first?["revoked"]?.bool == true)
    apple.server.whole.clock.advance(seconds: 1)
    let again = try await apple.signInWithCode()
    #expect(again.userID == session.userID)
    #expect(again.user["identities"]?.elements?.first?["revoked"] == nil)
    // Late, and twice.
    #expect(try await apple.deliver(notification).status == 200)
    #expect(try await apple.isLive(again))
    #expect(apple.events("received") == 1 && apple.events("duplicate") == 1 && apple.events("revoked") == 1)
    for line in apple.server.whole.lines.values {
      #expect(!line.contains("ada@example.com") && !line.contains(sub(session)), "\(line)")
    }
  }

  private func sub(_ session: ClientSession) -> String {
    session.user["identities"]?.elements?.first?["id"]?.string ?? "none"
  }

  @Test(
    "RULES §2.3: a notification of 59 minutes before a sign-in signs nobody out",
    arguments: AppleIDBehaviour.Events.allCases, [false, true])
  func late(spelling: AppleIDBehaviour.Events, inSeconds: Bool) async throws {
    let apple = try await AppleServer()
    await apple.apple.behave {
      $0.events = spelling
      $0.eventTimesInSeconds = inSeconds
    }
    let first = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 60)
    let late = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.clock.advance(seconds: 59 * 60)
    let session = try await apple.signInWithCode()
    #expect(session.userID == first.userID)
    #expect(try await apple.deliver(late).status == 200)
    #expect(try await apple.isLive(session))
    #expect(try await apple.server.refresh(first.refreshToken).status == 200)
    #expect(apple.events("stale") == 1)
    // One that is newer acts, whatever its spelling.
    apple.server.whole.clock.advance(seconds: 60)
    let newer = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    try await apple.deliver(newer)
    #expect(try await apple.isLive(session) == false)
  }

  @Test("the same notification 50 times at once is applied once, and each is answered 200")
  func duplicates() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.revokeConsent(
      account: AppleServer.ada, client: AppleServer.app)
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 {
        group.addTask { try await apple.server.whole.send(notification.request()).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: 50))
    await apple.server.whole.background.drain()
    #expect(try await apple.isLive(session) == false)
    #expect(apple.events("received") == 1 && apple.events("duplicate") == 49 && apple.events("revoked") == 1)
  }

  @Test("a changed octet, another team's client or another key is refused, and nothing is kept")
  func forged() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    let good = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    let octets = Array(good.token.utf8)
    let header = try #require(octets.firstIndex(of: UInt8(ascii: ".")))
    for place in stride(from: 0, to: octets.count, by: 7) {
      var changed = octets
      changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let token = String(decoding: changed, as: UTF8.self)
      let answer = try await apple.notify(JSONValue.object([("payload", .string(token))]).text)
      // Another name of a key may be one that Apple published a moment ago.
      let expected = place < header ? [400, 401, 503] : [400, 401]
      #expect(expected.contains(answer.status), "octet \(place)")
    }
    // A client of the same team that the configuration does not name.
    _ = try await apple.apple.signIn(account: AppleServer.grace, client: "com.example.clip", nonce: "n")
    let foreign = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.grace, client: "com.example.clip")
    #expect(try await Outcome(apple.deliver(foreign)) == Self.refused)
    #expect(try await apple.keptEvents() == 0)
    #expect(try await apple.isLive(session))
    #expect(apple.events("refused") > 50)
  }

  @Test("RULES §2.1: an identity token is no notification, nor the reverse")
  func kinds() async throws {
    let apple = try await AppleServer()
    let (raw, granted) = try await apple.sheet()
    let body = JSONValue.object([("payload", .string(granted.identityToken))]).text
    #expect(try await Outcome(apple.notify(body)) == Self.refused)
    let notification = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.ada, client: AppleServer.app)
    var forged = granted
    forged.identityToken = notification.token
    #expect(
      try await Outcome(apple.grant(AppleServer.body((raw, forged))))
        == Outcome(400, "identity_token_invalid"))
    #expect(try await apple.keptEvents() == 0)
  }

  @Test(
    "what is no notification is refused",
    arguments: [
      ("", 400), ("{}", 400), ("[]", 400), (#"{"payload":1}"#, 400), (#"{"payload":""}"#, 400),
      (#"{"payload":"a.b.c"}"#, 400), (#"{"payload":"a","payload":"b"}"#, 400), ("payload=x", 400),
      (#"{"payload":"\#(String(repeating: "a", count: 70_000))"}"#, 413),
      (#"{"payload":"\#(String(repeating: "a", count: 60_000))"}"#, 400),
    ])
  func malformed(body: String, status: Int) async throws {
    let apple = try await AppleServer()
    #expect(try await apple.notify(body).status == status)
    #expect(try await apple.keptEvents() == 0)
    let read = HTTPRequest(method: .get, target: "/apple/notifications")
    #expect(try await apple.server.whole.send(read).status == 405)
  }

  @Test("without Sign in with Apple there is no such route")
  func absent() async throws {
    let server = try await AccountServer()
    let request = HTTPRequest(method: .post, target: "/apple/notifications", body: HTTPBody("{}"))
    #expect(try await server.whole.send(request).status == 404)
  }

  @Test("while Apple's keys cannot be had Apple is asked to come again")
  func keysAway() async throws {
    let apple = try await AppleServer()
    _ = try await apple.apple.signIn(account: AppleServer.ada, client: AppleServer.app, nonce: "n")
    let notification = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.ada, client: AppleServer.app)
    await apple.apple.fail(.keys, with: .unreachable, times: 1)
    let away = try await apple.deliver(notification)
    let seconds = try #require(away.fields["retry-after"].flatMap { Int64($0) })
    #expect(try await Outcome(away) == Self.unavailable)
    #expect(try await apple.keptEvents() == 0)
    apple.server.whole.clock.advance(seconds: seconds)
    #expect(try await apple.deliver(notification).status == 200)
    #expect(apple.events("unknown_subject") == 1)
  }

  @Test("while the database is away Apple is asked to come again")
  func databaseAway() async throws {
    let apple = try await AppleServer()
    _ = try await apple.apple.signIn(account: AppleServer.ada, client: AppleServer.app, nonce: "n")
    let notification = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.database.close()
    #expect(try await Outcome(apple.deliver(notification)) == Self.unavailable)
  }

  @Test("RULES §2.3: a notification is accepted until 30 days after it expired")
  func overdue() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.revokeConsent(
      account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.clock.advance(seconds: 31 * 86_400)
    #expect(try await Outcome(apple.deliver(notification)) == Self.refused)
    apple.server.whole.clock.advance(seconds: -1)
    #expect(try await apple.deliver(notification).status == 200)
    #expect(apple.events("revoked") == 1)
    // Its name outlives the time in which it could come again.
    apple.server.whole.clock.advance(seconds: 40 * 86_400)
    try await apple.run("forget_apple_events")
    #expect(try await apple.keptEvents() == 1)
    apple.server.whole.clock.advance(seconds: 51 * 86_400)
    try await apple.run("forget_apple_events")
    #expect(try await apple.keptEvents() == 0)
    #expect(try await apple.isLive(session) == false)
  }

  @Test("an unknown type is kept, and answered 200")
  func unknownType() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    let notification = try await apple.apple.notification(
      "age-verified", account: AppleServer.ada, client: AppleServer.app)
    #expect(try await apple.deliver(notification).status == 200)
    #expect(try await apple.keptEvents() == 1)
    #expect(try await apple.isLive(session))
    #expect(apple.server.whole.lines.values.contains { $0.contains("age-verified") })
  }

  @Test("whether mail is forwarded is shown, and follows the newest word")
  func forwarding() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(hidesEmail: true)
    @Sendable func shown() async throws -> JSONNode? {
      try await apple.server.ask(.get, "/user", bearer: session.accessToken)
        .json["identities"]?.elements?.first?["email_forwarding"]
    }
    #expect(try await shown() == nil)
    var sent: [SimulatedNotification] = []
    for forwards in [false, true, false] {
      apple.server.whole.clock.advance(seconds: 5)
      sent.append(
        try await apple.apple.setForwarding(forwards, account: AppleServer.ada, client: AppleServer.app))
    }
    for (place, expected) in [(1, true), (0, true), (2, false), (1, false)] {
      #expect(try await apple.deliver(sent[place]).status == 200)
      let forwards = try await shown()?.bool
      #expect(forwards == expected)
    }
    #expect(apple.events("forwarding") == 2 && apple.events("stale") == 1)
  }

  @Test("what was kept and not applied when a process ended is applied by the job, in its order")
  func crash() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    let whole = apple.server.whole
    let store = SQLAppleEventStore(whole.database)
    for (id, type, time) in [("b", "consent-revoked", 9_000), ("a", "email-disabled", 5_000)] {
      let event = Accounts.AppleEvent(
        id: id, type: type, teamID: AppleServer.team, subject: sub(session),
        time: whole.clock.now + Int64(time))
      #expect(try await store.record([event], now: whole.clock.now))
    }
    #expect(try await apple.isLive(session))
    whole.clock.advance(seconds: 10)
    try await apple.run("apply_apple_events")
    #expect(try await apple.isLive(session) == false)
    #expect(apple.events("forwarding") == 1 && apple.events("revoked") == 1)
    try await apple.run("apply_apple_events")
    #expect(apple.events("revoked") == 1)
  }
}
