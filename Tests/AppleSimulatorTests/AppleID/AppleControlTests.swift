import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import SignInWithApple
import Synchronization
import Testing

@Suite("Simulated Apple ID: doors for other programs")
struct AppleControlTests {
  private func post(
    _ control: SimulatedAppleControl, _ door: String, _ body: JSONValue, type: String = "application/json"
  ) async throws -> (status: Int, json: JSONNode?) {
    let response = try await control.respond(
      to: HTTPRequest(
        method: .post, target: "/simulator/\(door)", fields: ["content-type": type],
        body: HTTPBody(body.bytes)))
    return (response.status, try? JSONReader.read(try await response.body.collect(upTo: 1 << 20)))
  }

  @Test("a program signs in, revokes and deletes, and each change is told")
  func doors() async throws {
    let place = try await Cupertino()
    let saves = Saves()
    let told = Saves()
    let control = SimulatedAppleControl(
      place.apple, changed: { _ in saves.count() }, notify: { _ in told.count() })
    let who: [(String, JSONValue)] = [("account", "ada@example.com"), ("client_id", .string(Cupertino.app))]
    let nonce = Hex.encode(Array("x".utf8))
    let granted = try await post(
      control, "sign-in", .object(who + [("nonce", .string(nonce)), ("hide_email", true)])
    ).json
    let token = try AppleToken(parsing: #require(granted?["identity_token"]?.string))
    #expect(await place.apple.keyIDs.contains(token.kid))
    #expect(granted?["user"]?["name"]?["firstName"]?.string == "Ada")
    #expect(granted?["user"]?["email"]?.string?.hasSuffix("@privaterelay.appleid.com") == true)
    let off = try await post(control, "forwarding", .object(who + [("enabled", false)])).json
    #expect(off?["notifications"]?.elements?.count == 1)
    let revoked = try await post(control, "revoke-consent", .object(who)).json
    let payload = try #require(revoked?["notifications"]?.elements?.first?["payload"]?.string)
    let said = try AppleToken(parsing: payload)
    let key = try #require(try await place.published()[said.kid])
    let notification = try NotificationVerifier(clients: place.clients).verify(said, key: key, now: place.now)
    #expect(notification.events.first?.type == .consentRevoked)
    #expect(try await post(control, "revoke-consent", .object(who)).status == 400)
    _ = try await post(control, "sign-in", .object(who + [("scopes", [])]))
    #expect(try await post(control, "delete-account", ["account": "ada@example.com"]).status == 200)
    #expect(saves.number == 5)
    #expect(told.number == 3)
    let new = try await post(control, "accounts", ["email": "tim@example.com", "first_name": "Tim"]).json
    #expect(new?["accounts"]?.elements?.count == 3)
    #expect(try await post(control, "accounts", ["email": "tim"]).status == 400)
    let list = try await control.respond(to: HTTPRequest(method: .get, target: "/simulator/accounts"))
    let accounts = try JSONReader.read(try await list.body.collect(upTo: 1 << 20))["accounts"]?.elements
    #expect(
      accounts?.compactMap { $0["email"]?.string } == [
        "grace@example.com", "alan@example.com", "tim@example.com",
      ])
  }

  @Test("a web page of another origin can do nothing here, and nonsense is refused")
  func refused() async throws {
    let place = try await Cupertino()
    let control = SimulatedAppleControl(place.apple)
    let who: JSONValue = ["account": "ada@example.com", "client_id": .string(Cupertino.app)]
    for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
      #expect(try await post(control, "sign-in", who, type: type).status == 415)
    }
    #expect(try await post(control, "sign-in", []).status == 400)
    #expect(try await post(control, "sign-in", [:]).json?["error"]?.string == "unknownClient")
    #expect(try await post(control, "nothing", who).status == 404)
    #expect(
      try await control.respond(to: HTTPRequest(method: .get, target: "/simulator/sign-in")).status == 404)
  }

  @Test("everything else is Apple, and a lost answer is kept as done")
  func passedOn() async throws {
    let place = try await Cupertino()
    let saves = Saves()
    let control = SimulatedAppleControl(place.apple) { _ in saves.count() }
    #expect(try await control.respond(to: place.requests.keys()).status == 200)
    #expect(saves.number == 0)
    await place.apple.fail(.revoke, with: .lostAnswer)
    await #expect(throws: HTTPClientError.interrupted) {
      try await control.respond(to: place.requests.revoke("r", kind: .refreshToken, secret: place.secret()))
    }
    #expect(saves.number == 1)
  }
}

private final class Saves: Sendable {
  private let counter = Atomic<Int>(0)
  var number: Int { counter.load(ordering: .relaxed) }
  func count() { counter.add(1, ordering: .relaxed) }
}
