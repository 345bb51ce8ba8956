import Accounts
import Admission
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct KeyUserTests {
  /// Asks Claude with the phone, as the user of the session.
  private func ask(
    _ server: AccountServer, _ phone: Phone, as session: ClientSession?
  ) async throws -> HTTPResponse {
    var question = Phone.question()
    if let session { question.fields["authorization"] = "Bearer " + session.accessToken }
    return try await server.whole.send(try await phone.sign(question))
  }

  @Test("RULES §1.9: the bearer of an attested request becomes the key's user, whose quotas then bind")
  func quotas() async throws {
    let server = try await AccountServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 100), .init(name: "mine", subject: .user, limit: 3),
      ]
    }
    let user = try await server.signUp()
    let (first, second) = (try await server.whole.phone(), try await server.whole.phone())
    // Nobody's key is bound by no user's quota.
    for _ in 0..<4 { #expect(try await ask(server, first, as: nil).status == 200) }
    #expect(try await ask(server, first, as: user).status == 200)
    // It stays the user's without the token, and the quota is one for both phones.
    #expect(try await ask(server, first, as: nil).status == 200)
    #expect(try await ask(server, second, as: user).status == 200)
    #expect(try await Outcome(ask(server, second, as: user)) == Outcome(429, "quota_exceeded"))
    #expect(try await Outcome(ask(server, first, as: nil)) == Outcome(429, "quota_exceeded"))
    let usage = try await server.whole.usage()
    #expect(usage.count { $0.userID == user.userID } == 3)
  }

  @Test("RULES §1.9: three users a day and ten in 30 days, then 429 key_user_limit")
  func limits() async throws {
    let server = try await AccountServer { $0.auth?.accessTokenLifetime = 86_400 }
    let phone = try await server.whole.phone()
    // The clock stands at the beginning of a window of 30 days, so that all falls into one.
    let month: Int64 = 30 * 86_400
    server.whole.clock.set(seconds: (server.whole.clock.seconds / month + 1) * month)
    var last: ClientSession?
    var total = 0
    for day in 0..<4 {
      for _ in 0..<3 where total < 10 {
        let user = try await server.signUp()
        #expect(try await ask(server, phone, as: user).status == 200, "day \(day)")
        last = user
        total += 1
      }
      let more = try await server.signUp()
      let refused = try await ask(server, phone, as: more)
      #expect(refused.fields["retry-after"] != nil && refused.fields["x-should-retry"] == "false")
      #expect(try await Outcome(refused) == Outcome(429, "key_user_limit"), "day \(day)")
      // Who is the key's user already goes on.
      if let last { #expect(try await ask(server, phone, as: last).status == 200) }
      #expect(try await ask(server, phone, as: nil).status == 200)
      server.whole.clock.advance(seconds: 86_400)
    }
    let other = try await server.whole.phone()
    #expect(try await ask(server, other, as: try await server.signUp()).status == 200)
  }

  @Test("an access token that does not hold is never as good as none")
  func bearers() async throws {
    let server = try await AccountServer()
    let phone = try await server.whole.phone()
    let user = try await server.signUp()
    _ = try await server.ask(.post, "/logout", bearer: user.accessToken)
    #expect(try await Outcome(ask(server, phone, as: user)) == Outcome(403, "session_not_found"))
    // What is no token of ours is the provider's key of an SDK, and is not looked at.
    var question = Phone.question()
    question.fields["authorization"] = "Bearer not-needed"
    #expect(try await server.whole.send(try await phone.sign(question)).status == 200)
  }

  @Test("RULES §1.8: a session token counts for the user of its key")
  func session() async throws {
    let server = try await AccountServer {
      $0.quotas = [.init(name: "mine", subject: .user, limit: 1)]
    }
    let phone = try await server.whole.phone()
    let user = try await server.signUp()
    var purchase = HTTPRequest(method: .post, target: "/attest/v1/token", peer: "192.0.2.1")
    purchase.fields["authorization"] = "Bearer " + user.accessToken
    let bought = try await server.whole.send(try await phone.sign(purchase, token: true)).json
    let token = try #require(bought["token"]?.string)
    var question = Phone.question()
    question.fields["authorization"] = "Bearer " + token
    #expect(try await server.whole.send(question).status == 200)
    #expect(try await Outcome(server.whole.send(question)) == Outcome(429, "quota_exceeded"))
  }
}
