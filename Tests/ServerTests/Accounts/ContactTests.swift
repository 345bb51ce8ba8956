import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

/// Whether mail reaches a user, as an app is told.
@Suite struct ContactTests {
  private func user(_ apple: AppleServer, _ session: ClientSession) async throws -> JSONNode {
    try await apple.server.ask(.get, "/user", bearer: session.accessToken).json
  }

  private func flags(_ user: JSONNode) -> [Bool?] { [user["may_contact"]?.bool, user["may_market"]?.bool] }

  @Test("an own address may be written to; nobody's may not")
  func own() async throws {
    let apple = try await AppleServer()
    #expect(flags(try await apple.server.signUp().user) == [false, false])
    #expect(flags(try await apple.signIn().user) == [true, true])
  }

  @Test("a relay address: no marketing ever, nothing while forwarding is off, and again once it is on")
  func relay() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(hidesEmail: true)
    #expect(session.user["email"]?.string?.hasSuffix("@privaterelay.appleid.com") == true)
    #expect(flags(session.user) == [true, false])
    for isOn in [false, true] {
      apple.server.whole.clock.advance(seconds: 5)
      try await apple.deliver(
        apple.apple.setForwarding(isOn, account: AppleServer.ada, client: AppleServer.app))
      let user = try await user(apple, session)
      #expect(flags(user) == [isOn, false])
      #expect(user["identities"]?.elements?.first?["email_forwarding"]?.bool == isOn)
    }
  }
}
