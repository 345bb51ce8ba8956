import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Users on routes that ask for no proof") struct UnprovenUserTests {
  private func ask(_ server: WholeServer, as session: ClientSession?, address: String = "192.0.2.1")
    async throws
    -> HTTPResponse
  {
    var question = Phone.question()
    question.peer = address
    if let session { question.fields["authorization"] = "Bearer " + session.accessToken }
    return try await server.send(question)
  }

  @Test(
    "RULES §5.1: who has signed in counts against the user's quotas from every address, and as the person")
  func counts() async throws {
    let apple = try await AppleServer {
      $0.anthropic?.policy = .none
      $0.quotas = [
        .init(name: "mine", subject: .user, limit: 3), .init(name: "all", subject: .everyone, limit: 100),
      ]
    }
    let server = apple.server.whole
    let ada = try await apple.signIn()
    for number in 1...3 {
      let response = try await ask(server, as: ada, address: "192.0.2.\(number)")
      #expect(response.status == 200)
      #expect(response.fields["ratelimit"]?.contains("\"mine\";r=\(3 - number)") == true)
    }
    #expect(try await Outcome(ask(server, as: ada, address: "192.0.2.9")) == Outcome(429, "quota_exceeded"))
    // Others, and who has not signed in, go on.
    #expect(try await ask(server, as: nil).status == 200)
    #expect(try await ask(server, as: try await apple.signIn(AppleServer.grace)).status == 200)
    // With a phone it is the same allowance.
    let phone = try await server.phone()
    var question = Phone.question()
    question.fields["authorization"] = "Bearer " + ada.accessToken
    #expect(try await server.send(try await phone.sign(question)).status == 429)
    // RULES §4.3: and after the account is made again.
    #expect(try await apple.delete(ada).status == 200)
    #expect(try await ask(server, as: try await apple.signIn()).status == 429)
    let rows = try await server.usage()
    #expect(rows.count == 5 && rows.allSatisfy { $0.keyID == nil })
  }

  @Test("an access token that does not hold is refused, and what is none is not looked at")
  func bearers() async throws {
    let server = try await AccountServer {
      $0.anthropic?.policy = .none
      $0.quotas = [.init(name: "all", subject: .everyone, limit: 100)]
    }
    let user = try await server.signUp()
    #expect(try await ask(server.whole, as: user).status == 200)
    #expect(try await server.whole.usage().map(\.userID) == [user.userID])
    _ = try await server.ask(.post, "/logout", bearer: user.accessToken)
    #expect(try await Outcome(ask(server.whole, as: user)) == Outcome(403, "session_not_found"))
    var question = Phone.question()
    question.fields["authorization"] = "Bearer not-needed"
    #expect(try await server.whole.send(question).status == 200)
  }
}
