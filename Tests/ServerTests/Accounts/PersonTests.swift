import BramleyTesting
import HTTPMessages
import Testing

@testable import Server

@Suite struct PersonTests {
  private func ask(_ server: AppleServer, _ phone: Phone, as session: ClientSession) async throws -> Int {
    var question = Phone.question()
    question.fields["authorization"] = "Bearer " + session.accessToken
    return try await server.server.whole.send(try await phone.sign(question)).status
  }

  private func delete(_ server: AppleServer, _ session: ClientSession) async throws {
    #expect(try await server.delete(session).status == 200)
  }

  @Test("RULES §4.3: 50 times deleted and back, one Apple account has one allowance")
  func comesBack() async throws {
    let server = try await AppleServer { $0.quotas = [.init(name: "mine", subject: .user, limit: 5)] }
    var admitted = 0
    var users: Set<String> = []
    for life in 0..<50 {
      // A phone takes three users a day.
      let phone = try await server.server.whole.phone()
      let session = try await server.signIn()
      users.insert(session.userID)
      for _ in 0..<(life < 3 ? 2 : 1) where try await ask(server, phone, as: session) == 200 { admitted += 1 }
      try await delete(server, session)
    }
    #expect(users.count == 50)
    #expect(admitted == 5)
    // Another person has their own, and the next day is a new one.
    let phone = try await server.server.whole.phone()
    #expect(try await ask(server, phone, as: try await server.signIn(AppleServer.grace)) == 200)
    server.server.whole.clock.advance(seconds: 86_400)
    #expect(try await ask(server, phone, as: try await server.signIn()) == 200)
  }

  @Test("RULES §4.3: linking refills nothing, and what a guest used is the person's after deletion")
  func linking() async throws {
    let server = try await AppleServer { $0.quotas = [.init(name: "mine", subject: .user, limit: 3)] }
    let phone = try await server.server.whole.phone()
    let guest = try await server.server.signUp()
    // Somebody was counted by name before, so that the secret is there.
    let other = try await server.server.whole.phone()
    #expect(try await ask(server, other, as: try await server.signIn(AppleServer.grace)) == 200)
    for _ in 0..<3 { #expect(try await ask(server, phone, as: guest) == 200) }
    #expect(try await ask(server, phone, as: guest) == 429)
    let linked = try await ClientSession(server.link(to: guest))
    #expect(linked.userID == guest.userID)
    #expect(try await ask(server, phone, as: linked) == 429)
    try await delete(server, linked)
    let back = try await server.signIn()
    #expect(back.userID != guest.userID)
    #expect(try await ask(server, phone, as: back) == 429)
  }
}
