import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("What is counted for those of whom Apple tells")
struct PersonEventTests {
  private func ask(
    _ server: AppleServer, _ phone: Phone, as session: ClientSession?
  ) async throws -> Int {
    var question = Phone.question()
    if let session { question.fields["authorization"] = "Bearer " + session.accessToken }
    return try await server.server.whole.send(try await phone.sign(question)).status
  }

  /// What is counted for persons under the rule, the most first.
  private func persons(_ server: AppleServer) async throws -> [Int64] {
    await server.server.whole.background.drain()
    return try await server.server.whole.database.read {
      try await $0.rows(
        """
        select l.used + l.held from lines l join subjects s on s.id = -l.subject join rules r on r.id = l.rule
        where r.name = 'mine' and s.kind = $1 order by 1 desc
        """, [.integer(LineSubject.Kind.person.rawValue)]
      ) { $0.int64(0) }
    }
  }

  @Test(
    "RULES §4.3: an account that goes by Apple's word leaves what it used, as a guest too, to whoever comes back",
    arguments: ServerBackend.allCases, ["consent-revoked", "account-deleted"])
  func gone(_ backend: ServerBackend, _ type: String) async throws {
    let server = try await AppleServer(
      {
        $0.quotas = [.init(name: "mine", subject: .user, limit: 3)]
        $0.auth?.apple?.onConsentRevoked = .delete
      }, on: backend.location)
    let whole = server.server.whole
    // Somebody is counted by name before, so that guests are as well.
    let (other, phone) = (try await whole.phone(), try await whole.phone())
    #expect(try await ask(server, other, as: try await server.signIn(AppleServer.grace)) == 200)
    let guest = try await server.server.signUp()
    for _ in 0..<3 { #expect(try await ask(server, phone, as: guest) == 200) }
    let linked = try await ClientSession(server.link(to: guest))
    let id = try #require(UUID(linked.userID))
    #expect(try await persons(server) == [1])
    whole.clock.advance(seconds: 5)
    if type == "consent-revoked" {
      try await server.deliver(
        server.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app))
    } else {
      for notification in try await server.apple.deleteAccount(AppleServer.ada) {
        try await server.deliver(notification)
      }
    }
    #expect(try await storedUsers(server.server).user(id) == nil)
    #expect(try await persons(server) == [3, 1])
    let byID = try await whole.database.read {
      try await $0.first("select count(*) from subjects where name = $1", [.text(linked.userID)]) {
        $0.int64(0)
      }
    }
    #expect(byID == 0, "the user's id is no counter's name any more")
    guard type == "consent-revoked" else { return }
    whole.clock.advance(seconds: 60)
    let back = try await server.signIn()
    #expect(back.userID != linked.userID)
    #expect(try await ask(server, try await whole.phone(), as: back) == 429)
    #expect(try await ask(server, phone, as: back) == 429)
    // The next day is a new one.
    whole.clock.advance(seconds: 86_400)
    #expect(try await ask(server, phone, as: try await server.signIn()) == 200)
  }

  @Test(
    "RULES §4.3: who withdraws consent and stays a user has no new allowance by signing in again",
    arguments: ServerBackend.allCases)
  func stays(_ backend: ServerBackend) async throws {
    let server = try await AppleServer(
      { $0.quotas = [.init(name: "mine", subject: .user, limit: 3)] }, on: backend.location)
    let whole = server.server.whole
    let phone = try await whole.phone()
    var session = try await server.signIn()
    for call in 0..<5 {
      #expect(try await ask(server, phone, as: session) == (call < 3 ? 200 : 429))
      whole.clock.advance(seconds: 5)
      try await server.deliver(
        server.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app))
      whole.clock.advance(seconds: 60)
      let again = try await server.signIn()
      #expect(again.userID == session.userID)
      session = again
    }
    #expect(try await persons(server) == [3])
  }
}
