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

  /// A session whose refresh token of Apple is kept.
  private func signIn(_ apple: AppleServer, hidesEmail: Bool = false) async throws -> ClientSession {
    let raw = "raw nonce of a client"
    let granted = try await apple.apple.signIn(
      account: AppleServer.ada, client: AppleServer.app, nonce: Hex.encode(SHA256.hash(raw)),
      hidesEmail: hidesEmail)
    return try await ClientSession(
      apple.grant(
        AppleServer.body((raw, granted), [("authorization_code", .string(granted.authorizationCode))])))
  }

  /// Delivers it, and waits until it was applied.
  @discardableResult private func deliver(
    _ notification: SimulatedNotification, to apple: AppleServer
  ) async throws -> HTTPResponse {
    let response = try await apple.server.whole.send(notification.request())
    await apple.server.whole.background.drain()
    return response
  }

  private func post(_ body: String, to apple: AppleServer) async throws -> HTTPResponse {
    try await apple.server.whole.send(
      HTTPRequest(
        method: .post, target: "/apple/notifications", fields: ["content-type": "application/json"],
        body: HTTPBody(body)))
  }

  private func isLive(_ session: ClientSession, _ apple: AppleServer) async throws -> Bool {
    try await apple.server.ask(.get, "/user", bearer: session.accessToken).status == 200
  }

  private func count(_ name: String, _ apple: AppleServer) -> Int {
    apple.server.whole.server.metrics.appleEvents[name].value
  }

  private func kept(_ apple: AppleServer) async throws -> Int64 {
    try await apple.server.whole.database.read {
      try $0.first("select count(*) from apple_events") { $0.int64(0) } ?? -1
    }
  }

  private func run(_ job: String, _ apple: AppleServer) async throws {
    let found = try #require(apple.server.whole.server.jobs.first { $0.name == job })
    #expect(await found.run() == .done)
  }

  @Test("who withdraws consent is signed out, keeps the account, and comes back as the same")
  func revoked() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    let other = try await apple.signIn(AppleServer.grace)
    #expect(try await apple.stored().count == 1)
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.revokeConsent(
      account: AppleServer.ada, client: AppleServer.app)
    #expect(try await deliver(notification, to: apple).status == 200)
    #expect(try await isLive(session, apple) == false)
    #expect(try await apple.server.refresh(session.refreshToken).status == 400)
    #expect(try await isLive(other, apple))
    #expect(try await apple.stored().isEmpty)
    let admin = try await apple.server.adminKey()
    let shown = try await apple.server.ask(.get, "/admin/users/\(session.userID)", bearer: admin).json
    #expect(shown["identities"]?.elements?.first?["revoked"]?.bool == true)
    apple.server.whole.clock.advance(seconds: 1)
    let again = try await signIn(apple)
    #expect(again.userID == session.userID)
    #expect(again.user["identities"]?.elements?.first?["revoked"] == nil)
    // Late, and twice.
    #expect(try await deliver(notification, to: apple).status == 200)
    #expect(try await isLive(again, apple))
    #expect(count("received", apple) == 1 && count("duplicate", apple) == 1 && count("revoked", apple) == 1)
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
    let first = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 60)
    let late = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.clock.advance(seconds: 59 * 60)
    let session = try await signIn(apple)
    #expect(session.userID == first.userID)
    #expect(try await deliver(late, to: apple).status == 200)
    #expect(try await isLive(session, apple))
    #expect(try await apple.server.refresh(first.refreshToken).status == 200)
    #expect(count("stale", apple) == 1)
    // One that is newer acts, whatever its spelling.
    apple.server.whole.clock.advance(seconds: 60)
    let newer = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    try await deliver(newer, to: apple)
    #expect(try await isLive(session, apple) == false)
  }

  @Test("the same notification 50 times at once is applied once, and each is answered 200")
  func duplicates() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
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
    #expect(try await isLive(session, apple) == false)
    #expect(count("received", apple) == 1 && count("duplicate", apple) == 49 && count("revoked", apple) == 1)
  }

  @Test("a changed octet, another team's client or another key is refused, and nothing is kept")
  func forged() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    let good = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    let octets = Array(good.token.utf8)
    let header = try #require(octets.firstIndex(of: UInt8(ascii: ".")))
    for place in stride(from: 0, to: octets.count, by: 7) {
      var changed = octets
      changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let token = String(decoding: changed, as: UTF8.self)
      let answer = try await post(JSONValue.object([("payload", .string(token))]).text, to: apple)
      // Another name of a key may be one that Apple published a moment ago.
      let expected = place < header ? [400, 401, 503] : [400, 401]
      #expect(expected.contains(answer.status), "octet \(place)")
    }
    // A client of the same team that the configuration does not name.
    _ = try await apple.apple.signIn(account: AppleServer.grace, client: "com.example.clip", nonce: "n")
    let foreign = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.grace, client: "com.example.clip")
    #expect(try await Outcome(deliver(foreign, to: apple)) == Self.refused)
    #expect(try await kept(apple) == 0)
    #expect(try await isLive(session, apple))
    #expect(count("refused", apple) > 50)
  }

  @Test("RULES §2.1: an identity token is no notification, nor the reverse")
  func kinds() async throws {
    let apple = try await AppleServer()
    let (raw, granted) = try await apple.sheet()
    let body = JSONValue.object([("payload", .string(granted.identityToken))]).text
    #expect(try await Outcome(post(body, to: apple)) == Self.refused)
    let notification = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.ada, client: AppleServer.app)
    var forged = granted
    forged.identityToken = notification.token
    #expect(
      try await Outcome(apple.grant(AppleServer.body((raw, forged))))
        == Outcome(400, "identity_token_invalid"))
    #expect(try await kept(apple) == 0)
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
    #expect(try await post(body, to: apple).status == status)
    #expect(try await kept(apple) == 0)
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
    let away = try await deliver(notification, to: apple)
    let seconds = try #require(away.fields["retry-after"].flatMap { Int64($0) })
    #expect(try await Outcome(away) == Self.unavailable)
    #expect(try await kept(apple) == 0)
    apple.server.whole.clock.advance(seconds: seconds)
    #expect(try await deliver(notification, to: apple).status == 200)
    #expect(count("unknown_subject", apple) == 1)
  }

  @Test("while the database is away Apple is asked to come again")
  func databaseAway() async throws {
    let apple = try await AppleServer()
    _ = try await apple.apple.signIn(account: AppleServer.ada, client: AppleServer.app, nonce: "n")
    let notification = try await apple.apple.notification(
      "consent-revoked", account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.database.close()
    #expect(try await Outcome(deliver(notification, to: apple)) == Self.unavailable)
  }

  @Test("RULES §2.3: a notification is accepted until 30 days after it expired")
  func overdue() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.revokeConsent(
      account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.clock.advance(seconds: 31 * 86_400)
    #expect(try await Outcome(deliver(notification, to: apple)) == Self.refused)
    apple.server.whole.clock.advance(seconds: -1)
    #expect(try await deliver(notification, to: apple).status == 200)
    #expect(count("revoked", apple) == 1)
    // Its name outlives the time in which it could come again.
    apple.server.whole.clock.advance(seconds: 40 * 86_400)
    try await run("forget_apple_events", apple)
    #expect(try await kept(apple) == 1)
    apple.server.whole.clock.advance(seconds: 51 * 86_400)
    try await run("forget_apple_events", apple)
    #expect(try await kept(apple) == 0)
    #expect(try await isLive(session, apple) == false)
  }

  @Test("an unknown type is kept, and answered 200")
  func unknownType() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    let notification = try await apple.apple.notification(
      "age-verified", account: AppleServer.ada, client: AppleServer.app)
    #expect(try await deliver(notification, to: apple).status == 200)
    #expect(try await kept(apple) == 1)
    #expect(try await isLive(session, apple))
    #expect(apple.server.whole.lines.values.contains { $0.contains("age-verified") })
  }

  @Test("whether mail is forwarded is shown, and follows the newest word")
  func forwarding() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple, hidesEmail: true)
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
      #expect(try await deliver(sent[place], to: apple).status == 200)
      let forwards = try await shown()?.bool
      #expect(forwards == expected)
    }
    #expect(count("forwarding", apple) == 2 && count("stale", apple) == 1)
  }

  @Test("a deleted Apple account is signed out, in either spelling", arguments: [false, true])
  func accountDeleted(old: Bool) async throws {
    let apple = try await AppleServer()
    await apple.apple.behave { $0.oldDeletionSpelling = old }
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    for notification in try await apple.apple.deleteAccount(AppleServer.ada) {
      try await deliver(notification, to: apple)
    }
    #expect(try await isLive(session, apple) == false)
    #expect(count("revoked", apple) == 1)
    let id = try #require(UUID(session.userID))
    #expect(try await storedUsers(apple.server).user(id)?.identities.map(\.status) == [.revoked])
  }

  @Test("RULES §2.4: a deletion is believed only where Apple no longer honours the refresh token")
  func contradicted() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.notification(
      "account-deleted", account: AppleServer.ada, client: AppleServer.app)
    try await deliver(notification, to: apple)
    #expect(try await isLive(session, apple))
    #expect(count("contradicted", apple) == 1)
    #expect(
      apple.server.whole.server.metrics.text
        .contains(#"bramley_alarms_total{alarm="apple_deletion"} 1"#))
  }

  @Test("RULES §2.4: while Apple does not say whether the token holds, a deletion waits")
  func undecided() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    let notifications = try await apple.apple.deleteAccount(AppleServer.ada)
    await apple.apple.fail(.token, with: .status(503), times: 2)
    for notification in notifications { try await deliver(notification, to: apple) }
    #expect(try await isLive(session, apple))
    try await run("apply_apple_events", apple)
    #expect(try await isLive(session, apple))
    for isLast in [false, true] {
      apple.server.whole.clock.advance(milliseconds: 2 * AppleNotifications.retryAfter)
      try await run("apply_apple_events", apple)
      let lives = try await isLive(session, apple)
      #expect(lives != isLast)
    }
    #expect(count("revoked", apple) == 1)
  }

  @Test("an operator may want to look at deletions first")
  func recorded() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onAccountDeleted = .record })
    let session = try await signIn(apple)
    apple.server.whole.clock.advance(seconds: 5)
    for notification in try await apple.apple.deleteAccount(AppleServer.ada) {
      try await deliver(notification, to: apple)
    }
    #expect(try await isLive(session, apple))
    #expect(count("recorded", apple) == 1)
  }

  @Test("what was kept and not applied when a process ended is applied by the job, in its order")
  func crash() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    let whole = apple.server.whole
    let store = SQLAppleEventStore(whole.database)
    for (id, type, time) in [("b", "consent-revoked", 9_000), ("a", "email-disabled", 5_000)] {
      let event = Accounts.AppleEvent(
        id: id, type: type, teamID: AppleServer.team, subject: sub(session),
        time: whole.clock.now + Int64(time))
      #expect(try await store.record([event], now: whole.clock.now))
    }
    #expect(try await isLive(session, apple))
    whole.clock.advance(seconds: 10)
    try await run("apply_apple_events", apple)
    #expect(try await isLive(session, apple) == false)
    #expect(count("forwarding", apple) == 1 && count("revoked", apple) == 1)
    try await run("apply_apple_events", apple)
    #expect(count("revoked", apple) == 1)
  }
}
