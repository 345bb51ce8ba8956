import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Deleting an account") struct DeletionTests {
  private typealias Case = AppleServer

  @Test("RULES §4.1: the consent at Apple ends, then the account, and its tokens are refused at once")
  func whole() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let operation = Case.operation()
    let response = try await apple.delete(session, as: operation)
    let answer = try await response.json
    #expect(response.status == 200 && answer["state"]?.string == "deleted")
    #expect(answer["operation_id"]?.string == operation && answer["apple_consent"]?.string == "revoked")
    #expect(answer["end_consent_at"] == nil)
    #expect(await apple.revocations() == 1)
    #expect(try await apple.user(session) == nil)
    #expect(try await apple.stored().isEmpty)
    for (method, target) in [(HTTPMethod.get, "/user"), (.put, "/user"), (.post, "/logout")] {
      let refused = try await apple.server.ask(method, target, "{}", bearer: session.accessToken)
      #expect(try await Outcome(refused) == Outcome(403, "session_not_found"), "\(method) \(target)")
    }
    #expect(
      try await Outcome(apple.server.refresh(session.refreshToken)) == Outcome(400, "refresh_token_not_found")
    )
    #expect(apple.outcomes("begun") == 1 && apple.outcomes("deleted") == 1)
    // Whoever asks again learns it, by the old token and by the name.
    for body: [(String, JSONValue)] in [[], [("operation_id", .string(operation))]] {
      let again = try await apple.delete(session, body)
      #expect(try await again.json["state"]?.string == "deleted" && again.status == 200)
    }
    #expect(try await apple.state(operation) == "deleted")
    #expect(await apple.revocations() == 1 && apple.outcomes("begun") == 1)
    // The same Apple Account signs up anew.
    let back = try await apple.signIn()
    #expect(back.userID != session.userID)
    #expect(try await apple.delete(session).json["state"]?.string == "deleted")
    #expect(try await apple.isLive(back))
    let log = apple.server.whole.lines.values.filter { $0.contains("account_deletion") }
    #expect(log.count == 2 && !log.joined().contains(Case.ada))
  }

  @Test("RULES §3.2: it wants a fresh sign-in; anonymous users prove the session alone")
  func stepUp() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let guest = try await apple.server.signUp()
    apple.server.whole.clock.advance(seconds: 301)
    let refused = try await apple.delete(session)
    #expect(refused.fields["www-authenticate"]?.contains("insufficient_user_authentication") == true)
    #expect(try await Outcome(refused) == Outcome(401, "insufficient_user_authentication"))
    #expect(try await apple.user(session)?.deletingSince == nil)
    #expect(await apple.revocations() == 0)
    let gone = try await apple.delete(guest)
    #expect(try await gone.json["apple_consent"]?.string == "none" && gone.status == 200)
    #expect(try await apple.user(guest) == nil)
    let fresh = try await apple.signIn()
    #expect(try await apple.delete(fresh).status == 200)
    #expect(try await apple.user(session) == nil)
    #expect(try await apple.server.ask(.delete, "/user").status == 403)
    let none = try await apple.server.whole.send(
      HTTPRequest(method: .delete, target: "/auth/v1/user", peer: "192.0.2.1"))
    #expect(try await Outcome(none) == Outcome(401, "no_authorization"))
  }

  @Test("a code of the linked account is exchanged, and its consent ended")
  func code() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let sheet = try await apple.sheet()
    let answer = try await apple.delete(
      session, [("authorization_code", .string(sheet.granted.authorizationCode))])
    #expect(try await answer.json["apple_consent"]?.string == "revoked" && answer.status == 200)
    #expect(await apple.apple.calls[.token] == 1)
    #expect(await apple.revocations() == 1)
    #expect(try await apple.user(session) == nil)
  }

  @Test("a code of another Apple Account: 403 apple_account_mismatch, nothing revoked, nothing deleted")
  func mismatch() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let other = try await apple.sheet(Case.grace)
    let operation = Case.operation()
    let answer = try await apple.delete(
      session,
      [
        ("authorization_code", .string(other.granted.authorizationCode)),
        ("operation_id", .string(operation)),
      ])
    #expect(try await Outcome(answer) == Outcome(403, "apple_account_mismatch"))
    #expect(await apple.revocations() == 0)
    #expect(try await apple.user(session)?.deletingSince == nil)
    #expect(try await apple.state(operation) == "deletion_not_found")
    #expect(try await apple.stored().count == 1)
    #expect(try await apple.isLive(session))
  }

  @Test("a code that was used: what it brought is revoked where it was kept, else another one is wanted")
  func usedCode() async throws {
    let apple = try await AppleServer()
    let sheet = try await apple.sheet()
    let code: (String, JSONValue) = ("authorization_code", .string(sheet.granted.authorizationCode))
    let session = try await ClientSession(apple.grant(Case.body(sheet, [code])))
    // Of a client that is not configured, or no code at all.
    for wrong: [(String, JSONValue)] in [
      [code, ("client_id", "com.example.other")], [code, ("client_id", .string(Case.web))],
      [("authorization_code", .string(String(repeating: "c", count: 3_000)))], [("authorization_code", 1)],
    ] {
      #expect(try await Outcome(apple.delete(session, wrong)) == Outcome(400, "validation_failed"))
    }
    #expect(try await apple.delete(session, [code]).status == 200)
    let other = try await apple.signIn(Case.grace)
    #expect(
      try await Outcome(apple.delete(other, [code])) == Outcome(400, "authorization_code_invalid"))
    #expect(try await apple.isLive(other))
  }

  @Test("without a token and a code it is deleted all the same, and says where its user ends the consent")
  func byHand() async throws {
    for hasKey in [true, false] {
      let apple = try await AppleServer(hasKey: hasKey)
      let session = try await apple.signIn()
      let answer = try await apple.delete(session, hasKey ? [] : [("authorization_code", "c.0.x")])
      let json = try await answer.json
      #expect(answer.status == 200 && json["apple_consent"]?.string == "by_hand")
      #expect(json["end_consent_at"]?.string == "https://support.apple.com/102571")
      #expect(await apple.revocations() == 0)
    }
  }

  @Test("RULES §4.2: an operation id is 128 random bits, and names one person's deletion")
  func names() async throws {
    let apple = try await AppleServer()
    let (ada, grace) = (try await apple.signIn(), try await apple.signIn(Case.grace))
    for weak in [
      "1", String(repeating: "0", count: 32), "000102030405060708090a0b0c0d0e0f",
      "019c1f07-e35a-4844-912e-6bf08315c739",
    ] {
      #expect(try await Outcome(apple.delete(ada, as: weak)) == Outcome(400, "validation_failed"))
      #expect(try await apple.state(weak) == "deletion_not_found")
    }
    let operation = Case.operation()
    #expect(try await apple.delete(ada, as: operation).status == 200)
    #expect(try await Outcome(apple.delete(grace, as: operation)) == Outcome(422, "validation_failed"))
    #expect(try await apple.isLive(grace))
    // In either case of its digits, for 30 days.
    #expect(try await apple.state(operation.uppercased()) == "deleted")
    apple.server.whole.clock.advance(seconds: 30 * 86_400 - 1)
    #expect(try await apple.state(operation) == "deleted")
    apple.server.whole.clock.advance(seconds: 1)
    #expect(try await apple.state(operation) == "deletion_not_found")
    try await apple.run("forget_deletions")
    #expect(try await apple.deletions.deletions(all: true, limit: 9).count == 1)
    apple.server.whole.clock.advance(seconds: 1)
    try await apple.run("forget_deletions")
    #expect(try await apple.deletions.deletions(all: true, limit: 9).isEmpty)
  }

  @Test("RULES §4.2: an expired but genuine token may read the state, and nothing else")
  func expired() async throws {
    let apple = try await AppleServer()
    let (session, guest) = (try await apple.signIn(), try await apple.server.signUp())
    #expect(try await apple.delete(session).status == 200)
    apple.server.whole.clock.advance(seconds: 3_601)
    #expect(try await apple.delete(session).json["state"]?.string == "deleted")
    #expect(try await Outcome(apple.delete(guest)) == Outcome(403, "bad_jwt"))
    #expect(try await apple.user(guest)?.deletingSince == nil)
    var forged = try await apple.server.signUp()
    let parts = forged.accessToken.split(separator: ".")
    let claims = Base64.encodeURL([UInt8](#"{"sub":"\#(session.userID)"}"#.utf8))
    forged = try ClientSession(forged, accessToken: "\(parts[0]).\(claims).\(parts[2])")
    #expect(try await Outcome(apple.delete(forged)) == Outcome(403, "bad_jwt"))
  }

  @Test("an operator deletes as Supabase's clients ask for it, and the consent ends as well")
  func byOperator() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let key = try await apple.server.adminKey()
    await apple.apple.fail(.revoke, with: .status(503))
    let path = "/admin/users/" + session.userID
    let failed = try await apple.server.ask(.delete, path, bearer: key)
    #expect(try await Outcome(failed) == Outcome(503, "revocation_failed"))
    #expect(try await apple.isLive(session))
    let response = try await apple.server.ask(.delete, path, bearer: key)
    #expect(try await response.text == "{}" && response.status == 200)
    #expect(await apple.revocations() == 2)
    #expect(try await apple.user(session) == nil)
    #expect(try await apple.delete(session).json["state"]?.string == "deleted")
  }

  @Test("RULES §2.4: Apple's word of our own revocation signs nobody out who has come back")
  func echo() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    #expect(try await apple.delete(session).status == 200)
    let back = try await apple.signIn()
    apple.server.whole.clock.advance(seconds: 5)
    let echo = try await apple.apple.revokeConsent(account: Case.ada, client: Case.app)
    #expect(try await apple.deliver(echo).status == 200)
    let outcomes = try await apple.server.whole.database.read {
      try await $0.rows("select outcome from apple_events") { $0.optionalString(0) }
    }
    #expect(outcomes == ["own_revocation"])
    #expect(try await apple.isLive(back))
  }

  @Test("RULES §2.4: a revocation that Apple refused is none: who withdraws consent after it is signed out")
  func noEcho() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    await apple.apple.fail(.revoke, with: .status(500))
    #expect(try await apple.delete(session).status == 503)
    #expect(try await apple.isLive(session))
    apple.server.whole.clock.advance(seconds: 60)
    let told = try await apple.apple.revokeConsent(account: Case.ada, client: Case.app)
    #expect(try await apple.deliver(told).status == 200)
    #expect(apple.events("revoked") == 1)
    #expect(try await !apple.isLive(session))
  }
}

extension ClientSession {
  /// The session with another access token.
  fileprivate init(_ session: ClientSession, accessToken: String) throws {
    self.init(
      accessToken: accessToken, refreshToken: session.refreshToken, expiresAt: session.expiresAt,
      user: session.user, json: session.json)
  }
}
