import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("The whole of a life") struct WholeLifeTests {
  private typealias Case = AppleServer

  /// A silent first launch on a phone that proves itself.
  private func signUp(_ apple: AppleServer, on phone: Phone) async throws -> ClientSession {
    let request = HTTPRequest(
      method: .post, target: "/auth/v1/signup", fields: ["content-type": "application/json"],
      body: HTTPBody("{}"), peer: "192.0.2.1")
    return try await ClientSession(apple.server.whole.send(try await phone.sign(request)))
  }

  /// A sheet whose address is hidden, with its code.
  private func sheet(_ apple: AppleServer, raw: String) async throws -> [(String, JSONValue)] {
    let granted = try await apple.apple.signIn(
      account: Case.ada, client: Case.app, nonce: Hex.encode(SHA256.hash(raw)), hidesEmail: true)
    return [
      ("provider", "apple"), ("id_token", .string(granted.identityToken)), ("nonce", .string(raw)),
      ("authorization_code", .string(granted.authorizationCode)),
    ]
  }

  private func grant(
    _ apple: AppleServer, _ more: [(String, JSONValue)] = [], raw: String? = nil, bearer: String? = nil
  ) async throws -> HTTPResponse {
    let raw = raw ?? Hex.encode(SecureRandom.bytes(16))
    return try await apple.grant(
      JSONValue.object(try await sheet(apple, raw: raw) + more).text, bearer: bearer)
  }

  @Test("anonymous, attested, linked, a second phone, switched, proven anew, told of, deleted, and back")
  func life() async throws {
    let apple = try await AppleServer()
    let clock = apple.server.whole.clock
    let phones = (try await apple.server.whole.phone(), try await apple.server.whole.phone())

    let guest = try await signUp(apple, on: phones.0)
    #expect(try guest.claims["attested"]?.bool == true)
    #expect(guest.user["is_anonymous"]?.bool == true)
    let linked = try await ClientSession(
      grant(apple, [("link_identity", true)], bearer: guest.accessToken))
    #expect(linked.userID == guest.userID && linked.user["is_anonymous"]?.bool == false)

    // A second phone begins as somebody else, and goes over.
    let second = try await signUp(apple, on: phones.1)
    let conflict = try await grant(apple, [("link_identity", true)], bearer: second.accessToken)
    #expect(conflict.status == 422)
    let ticket = try #require(try await conflict.json["switch_ticket"]?.string)
    let switched = try await ClientSession(
      apple.server.ask(
        .post, "/switch", #"{"switch_ticket":"\#(ticket)"}"#, bearer: second.accessToken))
    #expect(switched.userID == guest.userID)
    #expect(try await apple.leave("discard", by: switched).status == 200)
    await apple.server.whole.background.drain()
    #expect(try await apple.user(second) == nil)

    // Too old for what is sensitive, and proven anew in the same session.
    clock.advance(seconds: 1_000)
    #expect(
      try await Outcome(apple.delete(switched)) == Outcome(401, "insufficient_user_authentication"))
    let challenge = try await apple.challenge("reauthenticate", bearer: switched.accessToken).json
    let proven = try await ClientSession(
      grant(
        apple, [("reauthenticate", true)], raw: try #require(challenge["challenge"]?.string),
        bearer: switched.accessToken))
    #expect(try proven.sessionID == switched.sessionID)

    // Apple tells: no mail any more, mail again, the consent is gone.
    clock.advance(seconds: 5)
    for forwards in [false, true] {
      try await apple.deliver(
        try await apple.apple.setForwarding(forwards, account: Case.ada, client: Case.app))
      #expect(try await apple.user(proven)?.identities.first?.forwardsEmail == forwards)
      clock.advance(seconds: 1)
    }
    try await apple.deliver(try await apple.apple.revokeConsent(account: Case.ada, client: Case.app))
    #expect(try await apple.isLive(proven) == false)
    clock.advance(seconds: 5)
    let returned = try await ClientSession(grant(apple))
    #expect(returned.userID == guest.userID)

    // Everything that is held, and then nothing.
    let export = try await apple.server.ask(.get, "/user/export", bearer: returned.accessToken)
    #expect(try await export.json["user"]?["id"]?.string == guest.userID)
    let operation = Case.operation()
    let deleted = try await apple.delete(returned, as: operation)
    #expect(try await deleted.json["apple_consent"]?.string == "revoked" && deleted.status == 200)
    #expect(try await apple.state(operation) == "deleted")
    #expect(try await apple.isLive(returned) == false)
    #expect(try await apple.stored().isEmpty)

    clock.advance(seconds: 5)
    let reborn = try await ClientSession(grant(apple))
    #expect(reborn.userID != guest.userID)
    #expect(try await apple.isLive(reborn))
  }
}
