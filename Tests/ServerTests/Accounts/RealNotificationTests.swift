import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import SignInWithApple
import Stores
import Testing

@testable import Server

@Suite("Real notifications of Apple", Fixtures.required)
struct RealNotificationTests {
  static let all = Fixtures.documents(in: "siwa").filter { $0.string("kind") == "notification" }

  /// A server of that time, for that client, which Apple's keys of all times reach.
  private func server(_ real: Fixture) async throws -> AccountServer {
    let keys = try #require(Fixtures.bytes("siwa/apple-jwks-historical.json"))
    let client = try #require(real.json["claims"]?["aud"]?.string)
    let server = try await AccountServer(
      {
        $0.auth?.apple = Configuration.Auth.Apple(
          teamID: "TEAM123456",
          clients: [
            AppleClient(clientID: "com.example.other", kind: .web, teamID: "TEAM123456"),
            AppleClient(clientID: client, kind: .native, teamID: "TEAM123456"),
          ])
      },
      apple: { _ in
        HTTPResponse(status: 200, fields: ["content-type": "application/json"], body: HTTPBody(keys))
      })
    server.whole.clock.set(seconds: try #require(real.integer("verify_at")))
    return server
  }

  private func deliver(_ real: Fixture, to server: AccountServer) async throws -> HTTPResponse {
    let body = try #require(real.json["request_body"]?.value)
    let response = try await server.whole.send(
      HTTPRequest(
        method: .post, target: "/apple/notifications", fields: ["content-type": "application/json"],
        body: HTTPBody(body.bytes)))
    await server.whole.background.drain()
    return response
  }

  /// The user of its subject, who consented at that time.
  private func user(_ real: Fixture, consentAt: Int64, _ server: AccountServer) async throws -> OpenSession {
    let number = UInt8(truncatingIfNeeded: consentAt)
    func id(_ last: UInt8) throws -> UUID {
      try #require(UUID(octets: [UInt8](repeating: number, count: 15) + [last]))
    }
    let assertion = IdentityAssertion(
      teamID: "TEAM123456", subject: try #require(real.json["events_decoded"]?["sub"]?.string),
      clientID: try #require(real.json["claims"]?["aud"]?.string), issuer: "https://appleid.apple.com",
      issuedAt: consentAt, expiresAt: consentAt + 86_400_000, tokenHash: [number], requestHash: [number])
    let signIn = IdentitySignIn(
      assertion, user: try id(1), identity: try id(2), session: try id(3), policy: SignInPolicy(),
      now: server.whole.clock.now)
    return try await SQLAccountStore(server.whole.database).signIn(signIn).get()
  }

  @Test("each signs its user out, once, and leaves who consented 59 minutes later", arguments: all)
  func applied(_ real: Fixture) async throws {
    let server = try await server(real)
    let time = try #require(real.json["events_decoded"]?["event_time"]?.integer)
    let store = SQLAccountStore(server.whole.database)
    let open = try await user(real, consentAt: time - 86_400_000, server)
    #expect(try await deliver(real, to: server).status == 200)
    #expect(try await store.session(open.session.id, now: server.whole.clock.now) == nil)
    server.whole.clock.advance(seconds: 59 * 60)
    let again = try await user(real, consentAt: server.whole.clock.now, server)
    #expect(again.user.id == open.user.id)
    #expect(try await deliver(real, to: server).status == 200)
    #expect(try await store.session(again.session.id, now: server.whole.clock.now) != nil)
    let outcomes = server.whole.server.metrics.appleEvents
    #expect(outcomes["received"].value == 1 && outcomes["revoked"].value == 1)
    #expect(outcomes["duplicate"].value == 1)
  }

  @Test("each does nothing to who consented after it, when it comes late", arguments: all)
  func late(_ real: Fixture) async throws {
    let server = try await server(real)
    server.whole.clock.advance(seconds: 59 * 60)
    let open = try await user(real, consentAt: server.whole.clock.now, server)
    #expect(try await deliver(real, to: server).status == 200)
    let store = SQLAccountStore(server.whole.database)
    #expect(try await store.session(open.session.id, now: server.whole.clock.now) != nil)
    #expect(server.whole.server.metrics.appleEvents["stale"].value == 1)
  }
}
