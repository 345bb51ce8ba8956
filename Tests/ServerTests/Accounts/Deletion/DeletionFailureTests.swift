import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import SignInWithApple
import Stores
import Synchronization
import Testing

@testable import Server

@Suite("Deletions and what fails") struct DeletionFailureTests {
  private typealias Case = AppleServer

  /// The n-th revocation and those after it fail, while that is wanted.
  private final class Gate: Sendable {
    private let state = Mutex<(passed: Int, limit: Int)>((0, .max))

    func fail(after count: Int?) { state.withLock { $0 = (0, count ?? .max) } }

    func instead(_ request: HTTPRequest) -> HTTPResponse? {
      guard request.path == "/auth/revoke" else { return nil }
      return state.withLock {
        $0.passed += 1
        return $0.passed > $0.limit ? HTTPResponse(status: 503) : nil
      }
    }
  }

  /// Somebody with a token of the app and one of its clip.
  private func twoTokens(
    _ gate: Gate, _ policy: Deletion.Policy = .required
  ) async throws -> (AppleServer, ClientSession) {
    let apple = try await AppleServer(
      {
        $0.auth?.deletionPolicy = policy
        $0.auth?.apple?.clients.append(
          AppleClient(clientID: Case.clip, kind: .native, teamID: Case.team))
      }, instead: { gate.instead($0) })
    _ = try await apple.signInWithCode(client: Case.clip)
    return (apple, try await apple.signInWithCode(client: Case.app))
  }

  @Test(
    "RULES §4.1: Apple failing before the first success: 503, nothing deleted, and it can be asked again",
    arguments: [
      AppleIDFailure.status(503), .status(429), .page(502), .error("invalid_client"),
      .error("invalid_request"), .unreachable, .lostAnswer, .silence(.seconds(60)),
    ])
  func apple(failure: AppleIDFailure) async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let operation = Case.operation()
    await apple.apple.fail(.revoke, with: failure)
    let refused = try await apple.delete(session, as: operation)
    #expect(try await Outcome(refused) == Outcome(503, "revocation_failed"))
    #expect(refused.fields["retry-after"] != nil)
    #expect(try await apple.state(operation) == "not_deleted")
    #expect(try await apple.user(session)?.deletingSince == nil)
    #expect(try await apple.isLive(session))
    #expect(try await apple.stored().count == 1)
    #expect(apple.alarms("apple_configuration") == (failure == .error("invalid_client") ? 1 : 0))
    // Nothing goes on behind the user's back.
    try await apple.resume(after: 200)
    #expect(await apple.revocations() == 1)
    let again = try await apple.delete(session, as: operation)
    #expect(try await again.json["state"]?.string == "deleted" && again.status == 200)
    #expect(try await apple.state(operation) == "deleted")
  }

  @Test("a consent that had ended before is as good as one that ends now")
  func alreadyRevoked() async throws {
    let apple = try await AppleServer()
    for failure: AppleIDFailure? in [nil, .error("invalid_grant")] {
      let session = try await apple.signInWithCode(client: Case.app)
      if let failure {
        await apple.apple.fail(.revoke, with: failure)
      } else {
        _ = try await apple.apple.revokeConsent(account: Case.ada, client: Case.app)
      }
      #expect(try await apple.delete(session).json["apple_consent"]?.string == "revoked")
    }
  }

  @Test(
    "RULES §4.1: a code that cannot be exchanged: 503 before anything happens",
    arguments: [
      AppleIDFailure.status(503), .page(200), .error("invalid_client"), .error("invalid_request"),
      .unreachable, .lostAnswer, .silence(.seconds(60)),
    ])
  func exchange(failure: AppleIDFailure) async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let code = try await apple.sheet().granted.authorizationCode
    await apple.apple.fail(.token, with: failure)
    let refused = try await apple.delete(session, [("authorization_code", .string(code))])
    #expect(try await Outcome(refused) == Outcome(503, "revocation_failed"))
    #expect(try await apple.user(session)?.deletingSince == nil)
    #expect(try await apple.deletions.deletions(all: true, limit: 9).isEmpty)
    #expect(await apple.revocations() == 0)
  }

  @Test("RULES §4.1: after the first success it only goes forward: 202, refused everywhere, and then deleted")
  func forward() async throws {
    let gate = Gate()
    let (apple, session) = try await twoTokens(gate)
    gate.fail(after: 1)
    let operation = Case.operation()
    let pending = try await apple.delete(session, as: operation)
    let json = try await pending.json
    #expect(pending.status == 202 && json["state"]?.string == "deletion_pending")
    #expect(pending.fields["retry-after"] == "5" && json["operation_id"]?.string == operation)
    #expect(try await apple.state(operation) == "deletion_pending")
    #expect(try await apple.user(session)?.deletingSince != nil)
    for (method, target, body) in [
      (HTTPMethod.get, "/user", ""), (.put, "/user", #"{"data":{"a":1}}"#), (.post, "/logout", ""),
      (.delete, "/user/identities/\(session.userID)", ""),
      (.post, "/apple/challenge", #"{"purpose":"link"}"#),
    ] {
      let refused = try await apple.server.ask(method, target, body, bearer: session.accessToken)
      #expect(
        try await Outcome(refused) == Outcome(503, "deletion_in_progress"), "\(method) \(target)")
      #expect(refused.fields["retry-after"] != nil)
    }
    let outcome = Outcome(503, "deletion_in_progress")
    #expect(try await Outcome(apple.server.refresh(session.refreshToken)) == outcome)
    #expect(try await Outcome(apple.grant(Case.body(apple.sheet()))) == outcome)
    #expect(try await Outcome(apple.link(to: session)) == outcome)
    // Asked again, by whatever name.
    #expect(try await apple.delete(session, as: Case.operation()).json["operation_id"]?.string == operation)
    #expect(try await apple.delete(session, as: operation).status == 202)
    // Not before its time, and then, Apple answering, to its end.
    try await apple.resume(after: 30)
    #expect(try await apple.state(operation) == "deletion_pending")
    try await apple.resume(after: 40)
    #expect(try await apple.state(operation) == "deletion_pending")
    gate.fail(after: nil)
    try await apple.resume(after: 130)
    #expect(try await apple.state(operation) == "deleted")
    #expect(try await apple.user(session) == nil)
  }

  @Test("after a day without Apple the account waits no longer; the operator is told, and may try again")
  func givenUp() async throws {
    let gate = Gate()
    let (apple, session) = try await twoTokens(gate)
    gate.fail(after: 1)
    let operation = Case.operation()
    #expect(try await apple.delete(session, as: operation).status == 202)
    for _ in 1..<DeletionRule.attemptLimit { try await apple.resume(after: 21_601) }
    #expect(try await apple.state(operation) == "deleted")
    #expect(apple.alarms("deletion") == 1)
    let left = try await apple.deletions.deletions(all: false, limit: 9)
    #expect(left.map(\.revocation) == [.byHand])
    gate.fail(after: nil)
    let name = try #require(OperationID(operation))
    _ = try await apple.deletions.retry(name, now: apple.server.whole.clock.now)
    try await apple.resume(after: 15)
    #expect(try await apple.deletions.deletions(all: false, limit: 9).isEmpty)
  }

  @Test("with the policy eventual the account closes first, and Apple is told when it answers")
  func eventual() async throws {
    let gate = Gate()
    let (apple, session) = try await twoTokens(gate, .eventual)
    gate.fail(after: 0)
    let closed = try await apple.delete(session)
    #expect(closed.status == 200)
    #expect(try await closed.json["apple_consent"]?.string == "queued")
    #expect(try await apple.user(session) == nil)
    try await apple.resume(after: 61)
    #expect(try await apple.deletions.deletions(all: false, limit: 9).first?.waiting.count == 2)
    gate.fail(after: nil)
    try await apple.resume(after: 121)
    #expect(try await apple.deletions.deletions(all: false, limit: 9).isEmpty)
    #expect(try await apple.delete(session).json["apple_consent"]?.string == "revoked")
  }

  @Test("RULES §2.4: a queued revocation is dropped when the person has consented again")
  func superseded() async throws {
    let gate = Gate()
    let (apple, session) = try await twoTokens(gate, .eventual)
    gate.fail(after: 0)
    #expect(try await apple.delete(session).status == 200)
    gate.fail(after: nil)
    let before = await apple.revocations()
    apple.server.whole.clock.advance(seconds: 2)
    let back = try await apple.signInWithCode(client: Case.app)
    try await apple.resume(after: 300)
    #expect(await apple.revocations() == before)
    #expect(try await apple.deletions.deletions(all: false, limit: 9).isEmpty)
    // Apple still honours what it gave since.
    #expect(try await apple.delete(back).status == 200)
  }

  @Test("RULES §4.1: an app's table that refuses: 422 deletion_blocked, and Apple was not asked")
  func blocked() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    try await apple.appTable()
    let operation = Case.operation()
    #expect(
      try await Outcome(apple.delete(session, as: operation)) == Outcome(422, "deletion_blocked"))
    #expect(await apple.revocations() == 0)
    #expect(try await apple.isLive(session))
    #expect(try await apple.state(operation) == "deletion_not_found")
    #expect(apple.outcomes("blocked") == 1)
    // A code that came along is used up by then, and what it brought is kept.
    let code = try await apple.sheet().granted.authorizationCode
    let body: [(String, JSONValue)] = [("authorization_code", .string(code))]
    #expect(try await apple.delete(session, body).status == 422)
    try await apple.sql("delete from orders")
    #expect(try await apple.delete(session, body).status == 200)
  }

  @Test("RULES §4.1: a table that refuses no sooner than at the end: forward after a success, else kept")
  func blockedLate() async throws {
    for hasToken in [true, false] {
      let database = Mutex<Database?>(nil)
      let files = InMemoryFiles()
      let apple = try await AppleServer(
        owned: hasToken ? [] : [files],
        instead: { request in
          guard request.path == "/auth/revoke" else { return nil }
          // A row that comes while Apple is asked.
          _ = try await database.withLock { $0 }?.write {
            try await $0.execute("insert into orders (owner) select id from users")
          }
          return nil
        })
      let session =
        hasToken ? try await apple.signInWithCode(client: Case.app) : try await apple.signIn()
      try await apple.sql(
        "create table orders (id integer primary key, owner blob not null references users (id)) strict")
      database.withLock { $0 = apple.server.whole.database }
      guard hasToken else {
        #expect(try await apple.delete(session).status == 200)
        continue
      }
      let pending = try await apple.delete(session)
      #expect(pending.status == 202)
      #expect(apple.alarms("deletion") == 1)
      let left = try await apple.deletions.deletions(all: false, limit: 9).first
      #expect(left?.state == .committed && left?.failure?.contains("refuses") == true)
      database.withLock { $0 = nil }
      try await apple.sql("delete from orders")
      try await apple.resume(after: 61)
      #expect(try await apple.delete(session).json["state"]?.string == "deleted")
      #expect(await apple.revocations() == 1)
    }
  }
}
