import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct AuditRouteTests {
  private func ask(
    _ server: AccountServer, _ query: String = "", key: String?, fields more: HTTPFields = [:]
  ) async throws -> HTTPResponse {
    var fields = more
    if let key { fields["authorization"] = "Bearer \(key)" }
    return try await server.whole.server.adminHandler.respond(
      to: HTTPRequest(method: .get, target: "/admin/v1/audit" + query, fields: fields, peer: "127.0.0.1"))
  }

  private func lines(_ response: HTTPResponse) async throws -> [JSONNode] {
    try #require(response.status == 200)
    return try #require(try await response.json["entries"]?.elements)
  }

  @Test("RULES §6.1: the audit log opens to an operator's key alone, on the operator's listener alone")
  func access() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    let key = try await server.adminKey()
    #expect(try await Outcome(ask(server, key: nil)) == Outcome(401, "no_authorization"))
    for wrong in [session.accessToken, "sb_secret_" + String(repeating: "a", count: 43), "x"] {
      #expect(try await Outcome(ask(server, key: wrong)) == Outcome(403, "not_admin"))
    }
    #expect(try await ask(server, key: key).status == 200)
    let open = try await server.whole.send(
      HTTPRequest(
        method: .get, target: "/admin/v1/audit", fields: ["authorization": "Bearer \(key)"],
        peer: "127.0.0.1"))
    #expect(open.status == 404)
    let crossed = try await ask(server, key: key, fields: ["origin": "https://app.example.com"])
    #expect(crossed.fields["access-control-allow-origin"] == nil)
    #expect(crossed.fields["cache-control"] == "no-store")
  }

  @Test("it tells of attestations that were taken and refused, of bans and of ended keys")
  func devices() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let phone = try await server.whole.phone()
    let other = try await Phone(server.whole)
    #expect(try await server.whole.send(other.registration(flaw: .wrongNonce)).status == 400)
    let keys = SQLDeviceKeyStore(server.whole.database, OperatorAct(.command, now: server.whole.clock.now))
    #expect(try await keys.setBanned(true, phone.key))
    #expect(try await keys.revoke(phone.key))
    let found = try await lines(ask(server, key: key))
    #expect(
      found.map { ($0["action"]?.string ?? "") + " " + ($0["result"]?.string ?? "") } == [
        "device_key_revoked done", "device_key_banned done", "device_key_registered refused",
        "device_key_registered done",
      ])
    #expect(found.map { $0["actor"]?.string } == ["command", "command", "user", "user"])
    #expect(found[2]["device"]?.string == other.keyID && found[3]["device"]?.string == phone.keyID)
    #expect(found[2]["address"]?.string == "192.0.2.1" && found[2]["reason"]?.string?.isEmpty == false)
    let asked = try await lines(ask(server, "?action=device_key_registered", key: key))
    #expect(asked.count == 2)
  }

  @Test("it tells who did what from where, and is paged by a cursor")
  func pages() async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    let session = try await server.signUp()
    for _ in 0..<3 { _ = try await server.signUp() }
    _ = try await server.ask(
      .put, "/admin/users/\(session.userID)", #"{"ban_duration":"24h"}"#, bearer: key, peer: "198.51.100.9")
    let all = try await lines(ask(server, key: key))
    #expect(all.count == 5)
    let banned = try #require(all.first)
    #expect(banned["action"]?.string == "user_banned" && banned["result"]?.string == "done")
    #expect(banned["actor"]?.string == "operator" && banned["admin_key"]?.string == "test")
    #expect(banned["address"]?.string == "198.51.100.9" && banned["user"]?.string == session.userID)
    #expect(banned["device"]?.isNull == true && banned["session"]?.isNull == true)
    #expect(banned["time"]?.string.flatMap { RFC3339.seconds($0) } == server.whole.clock.now / 1000)
    #expect(all.last?["actor"]?.string == "user" && all.last?["address"]?.string == "192.0.2.1")
    #expect(try all.last?["session"]?.string == session.sessionID)

    var paged: [String] = []
    var cursor: String?
    repeat {
      let response = try await ask(server, "?limit=2" + (cursor.map { "&cursor=\($0)" } ?? ""), key: key)
      paged += try await lines(response).map(\.value.text)
      cursor = try await response.json["next_cursor"]?.string
    } while cursor != nil
    #expect(paged == all.map(\.value.text))
    #expect(try await lines(ask(server, "?user=\(session.userID)", key: key)).count == 2)
    #expect(try await lines(ask(server, "?action=user_banned", key: key)).count == 1)
    #expect(try await lines(ask(server, "?to=2001-01-01", key: key)).isEmpty)
    #expect(try await lines(ask(server, "?from=2001-01-01T00:00:00Z", key: key)).count == 5)
  }

  @Test(
    "a slip of the pen is told, not passed over",
    arguments: [
      "user=x", "action=nothing", "from=yesterday", "to=2026-13-01", "limit=0", "limit=1001", "limit=-1",
      "limit=99999999999999999999", "cursor=x", "cursor=-1", "users=1", "limit=1&limit=2", "from=%zz",
    ])
  func mistakes(_ query: String) async throws {
    let server = try await AccountServer()
    let key = try await server.adminKey()
    #expect(try await ask(server, "?" + query, key: key).status == 400)
  }

  @Test("lines are kept as long as the policy says")
  func retention() async throws {
    let server = try await AccountServer { $0.auditRetentionDays = 30 }
    let key = try await server.adminKey()
    _ = try await server.signUp()
    server.whole.clock.advance(seconds: 29 * 86_400)
    _ = try await server.signUp()
    let job = try #require(server.whole.server.jobs.first { $0.name == "forget_audit" })
    _ = await job.run()
    #expect(try await lines(ask(server, key: key)).count == 2)
    server.whole.clock.advance(seconds: 2 * 86_400)
    _ = await job.run()
    #expect(try await lines(ask(server, key: key)).count == 1)
  }
}
