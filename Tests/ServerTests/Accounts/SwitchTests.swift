import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

/// Going over to the account that an identity belongs to, and what becomes of the anonymous user who is left.
@Suite("Switching accounts") struct SwitchTests {
  /// An owner, and a guest with a ticket for the owner's account.
  private struct Offer {
    let apple: AppleServer
    let owner: ClientSession
    let guest: ClientSession
    let ticket: String

    init(owned: [InMemoryFiles] = []) async throws {
      apple = try await AppleServer(owned: owned)
      owner = try await apple.signIn()
      guest = try await apple.server.signUp()
      ticket = try await apple.link(to: guest).json["switch_ticket"]?.string ?? ""
    }

    func go(_ session: ClientSession) async throws -> HTTPResponse {
      try await apple.server.ask(
        .post, "/switch", #"{"switch_ticket":"\#(ticket)"}"#, bearer: session.accessToken)
    }

    func isThere(_ session: ClientSession) async throws -> Bool {
      try await apple.server.ask(.get, "/user", bearer: session.accessToken).status == 200
    }
  }

  @Test("RULES §3.7: a switch ticket opens the other account once, for the session it is bound to alone")
  func switching() async throws {
    let offer = try await Offer()
    let server = offer.apple.server
    let stranger = try await server.signUp()
    #expect(try await Outcome(offer.go(stranger)) == Outcome(400, "switch_ticket_invalid"))
    let switched = try await ClientSession(offer.go(offer.guest))
    #expect(switched.userID == offer.owner.userID)
    // Sent twice, since the answer was lost.
    #expect(try await ClientSession(offer.go(offer.guest)).sessionID == switched.sessionID)
    #expect(try await offer.isThere(switched))
    #expect(try await Outcome(offer.go(offer.guest)) == Outcome(400, "switch_ticket_invalid"))
    // Nothing was said of the guest.
    #expect(try await offer.isThere(offer.guest))
    #expect(try await server.ask(.post, "/switch", "{}").status == 403)
  }

  @Test("RULES §3.7: discard and keep are said by the session that the ticket opened alone, and once")
  func leaving() async throws {
    let offer = try await Offer()
    let apple = offer.apple
    // Whoever is left does not say it themself, and the ticket is none the worse for it.
    for word in ["discard", "keep"] {
      let combined = try await apple.server.ask(
        .post, "/switch", #"{"switch_ticket":"\#(offer.ticket)","leaving":"\#(word)"}"#,
        bearer: offer.guest.accessToken)
      #expect(try await Outcome(combined) == Outcome(400, "validation_failed"))
    }
    let switched = try await ClientSession(offer.go(offer.guest))
    let nothing = Outcome(422, "nothing_left_behind")
    for session in [offer.guest, offer.owner] {
      #expect(try await Outcome(apple.leave("discard", by: session)) == nothing)
    }
    for body in ["{}", #"{"leaving":"burn"}"#, #"{"leaving":null}"#, #"{"leaving":true}"#] {
      let answer = try await apple.server.ask(.post, "/switch/leaving", body, bearer: switched.accessToken)
      #expect(try await Outcome(answer) == Outcome(400, "validation_failed"))
    }
    let path = "/switch/leaving"
    #expect(try await apple.server.ask(.post, path, #"{"leaving":"discard"}"#).status == 403)
    #expect(try await offer.isThere(offer.guest))
    for _ in 0..<2 {
      let said = try await apple.leave("discard", by: switched)
      #expect(said.status == 200)
      #expect(try await said.json["leaving"]?.string == "discard")
    }
    #expect(try await Outcome(apple.leave("keep", by: switched)) == nothing)
    // Who is discarded goes as in every deletion, behind the answer.
    await apple.server.whole.background.drain()
    #expect(
      try await Outcome(apple.server.ask(.get, "/user", bearer: offer.guest.accessToken))
        == Outcome(403, "session_not_found"))
    #expect(try await apple.leave("discard", by: switched).status == 200)
    #expect(try await offer.isThere(switched))
  }

  @Test("RULES §3.7: a guest who signed in with an identity meanwhile is not discarded")
  func linked() async throws {
    let offer = try await Offer()
    let switched = try await ClientSession(offer.go(offer.guest))
    let linked = try await ClientSession(offer.apple.link(AppleServer.grace, to: offer.guest))
    #expect(
      try await Outcome(offer.apple.leave("discard", by: switched)) == Outcome(422, "nothing_left_behind"))
    await offer.apple.server.whole.background.drain()
    #expect(try await offer.isThere(linked))
  }

  @Test("RULES §3.7, §4.1: what is kept for the anonymous user who is discarded is erased as well")
  func discardedData() async throws {
    let files = InMemoryFiles()
    let offer = try await Offer(owned: [files])
    let apple = offer.apple
    let user = try #require(UUID(offer.guest.userID))
    files.put("a", of: user)
    files.fail(true)
    let switched = try await ClientSession(offer.go(offer.guest))
    #expect(try await apple.leave("discard", by: switched).status == 200)
    await apple.server.whole.background.drain()
    #expect(try await storedUsers(apple.server).user(user) == nil)
    #expect(files.files(of: user) == ["a"])
    files.fail(false)
    try await apple.resume(after: 600)
    #expect(files.files(of: user) == [])
    #expect(
      try await Outcome(apple.server.ask(.get, "/user", bearer: offer.guest.accessToken))
        == Outcome(403, "session_not_found"))
  }
}
