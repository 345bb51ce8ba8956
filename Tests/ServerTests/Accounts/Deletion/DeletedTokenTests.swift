import Accounts
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite("Tokens of accounts that go") struct DeletedTokenTests {
  private typealias Case = AppleServer

  /// Asks Claude with the phone, as the user of the session.
  private func ask(
    _ apple: AppleServer, _ phone: Phone, as session: ClientSession
  ) async throws -> HTTPResponse {
    var question = Phone.question()
    question.fields["authorization"] = "Bearer " + session.accessToken
    return try await apple.server.whole.send(try await phone.sign(question))
  }

  /// Buys a device's session token as the session's user.
  private func token(
    _ apple: AppleServer, _ phone: Phone, as session: ClientSession
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(
      method: .post, target: AttestTargets.token,
      fields: ["authorization": "Bearer " + session.accessToken], peer: "192.0.2.1")
    return try await apple.server.whole.send(try await phone.sign(request, token: true))
  }

  private func ask(_ apple: AppleServer, withToken token: String) async throws -> HTTPResponse {
    var question = Phone.question()
    question.fields["x-api-key"] = token
    return try await apple.server.whole.send(question)
  }

  @Test(
    "RULES §1.8, §4.1: from the mark on, no route takes an access token, or a device's token, of the user")
  func everywhere() async throws {
    let apple = try await AppleServer()
    let phone = try await apple.server.whole.phone()
    let session = try await apple.signInWithCode(client: Case.app)
    #expect(try await ask(apple, phone, as: session).status == 200)
    let bought = try await token(apple, phone, as: session)
    let device = try #require(try await bought.json["token"]?.string)
    #expect(try await ask(apple, withToken: device).status == 200)
    // Marked, and nothing else: an operator's command began it.
    let name = try #require(OperationID(Case.operation()))
    let now = apple.server.whole.clock.now
    _ = try await apple.deletions.begin(
      DeletionRequest(
        user: try #require(UUID(session.userID)), operation: name, origin: .command, policy: .required,
        proof: .none, lease: now, now: now)
    ).get()
    let marked = Outcome(503, "deletion_in_progress")
    #expect(try await Outcome(ask(apple, phone, as: session)) == marked)
    #expect(try await Outcome(token(apple, phone, as: session)) == marked)
    #expect(try await Outcome(ask(apple, withToken: device)) == Outcome(401, "invalid_session"))
    #expect(
      try await Outcome(apple.server.ask(.get, "/user/export", bearer: session.accessToken)) == marked)
    try await apple.resume(after: 1)
    let gone = Outcome(403, "session_not_found")
    #expect(try await Outcome(ask(apple, phone, as: session)) == gone)
    #expect(try await Outcome(token(apple, phone, as: session)) == gone)
    #expect(try await Outcome(ask(apple, withToken: device)) == Outcome(401, "invalid_session"))
    // The phone is still one, and the person may come back on it.
    let back = try await apple.signIn()
    #expect(try await ask(apple, phone, as: back).status == 200)
  }

  @Test("where the account is kept, everything works on; the device buys another token")
  func kept() async throws {
    let apple = try await AppleServer()
    let phone = try await apple.server.whole.phone()
    let session = try await apple.signInWithCode(client: Case.app)
    let bought = try await token(apple, phone, as: session)
    let device = try #require(try await bought.json["token"]?.string)
    await apple.apple.fail(.revoke, with: .status(503))
    #expect(try await apple.delete(session).status == 503)
    #expect(try await ask(apple, phone, as: session).status == 200)
    #expect(try await Outcome(ask(apple, withToken: device)) == Outcome(401, "invalid_session"))
    #expect(try await token(apple, phone, as: session).status == 200)
    // The log says what Apple did, and the answer does not.
    let lines = apple.server.whole.lines.values.filter { $0.contains("revocation_failed") }
    #expect(lines.contains { $0.contains("Apple answered 503") })
  }
}
