import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("The hook before a user is made") struct BeforeUserCreatedTests {
  private static let name = "before_user_created"

  private static func server(_ backend: HookBackend) async throws -> AppleServer {
    try await AppleServer(
      { HookBackend.configure([name], &$0) }, outside: { try await backend.respond(to: $0) })
  }

  private static func rows(_ server: AppleServer) async throws -> Int64 {
    try await server.server.whole.database.read { transaction in
      var rows: Int64 = 0
      for table in ["users", "identities", "sessions", "used_identity_tokens", "audit_log"] {
        rows += try await transaction.first("select count(*) from \(table)") { $0.int64(0) } ?? 0
      }
      return rows
    }
  }

  @Test(
    "RULES §3.9: a veto makes nothing, and says what the hook says; the same token works once it is lifted")
  func veto() async throws {
    let backend = HookBackend()
    backend.answer(Self.name, #"{"error":{"http_code":403,"message":"Not from here\u0000"}}"#)
    let server = try await Self.server(backend)
    let body = AppleServer.body(try await server.sheet())
    for response in [
      try await server.grant(body), try await server.server.ask(.post, "/signup", #"{"data":{}}"#),
    ] {
      #expect(response.status == 403)
      let json = try await response.json
      #expect(json["code"]?.string == "hook_refused" && json["message"]?.string == "Not from here")
    }
    #expect(try await Self.rows(server) == 0)
    backend.answer(Self.name, "{}")
    _ = try await ClientSession(server.grant(body))
    #expect(backend.count(Self.name) == 3)
  }

  @Test("a veto beside a 4xx is one as well, with its status kept to 4xx")
  func statuses() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    for (status, error, expected) in [
      (400, #"{"message":"a","http_code":422}"#, 422), (403, #"{"message":"a"}"#, 403),
      (200, #"{"message":"a","http_code":500}"#, 403), (200, #"{"message":"a","http_code":200}"#, 403),
      (200, "{}", 403), (422, #"{"message":"a","http_code":"x"}"#, 403),
    ] {
      backend.answer(Self.name, status, #"{"error":\#(error)}"#)
      #expect(try await server.server.ask(.post, "/signup", "{}").status == expected)
    }
    #expect(try await Self.rows(server) == 0)
    backend.answer(Self.name, #"{"error":null}"#)
    _ = try await server.server.signUp()
  }

  @Test("the payload and its signature are Supabase's")
  func payload() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    let session = try await server.signIn()
    let asked = try #require(backend.asked.values.first)
    #expect(asked.body.members?.map(\.name) == ["metadata", "user"])
    #expect(asked.body["metadata"]?["name"]?.string == "before-user-created")
    #expect(asked.body["metadata"]?["ip_address"]?.string == "192.0.2.1")
    #expect(asked.body["metadata"]?["uuid"]?.string == asked.request.fields["webhook-id"])
    #expect(RFC3339.seconds(asked.body["metadata"]?["time"]?.string ?? "") != nil)
    // The user as it is made, to the letter.
    #expect(asked.body["user"]?.value == session.user.value)
    let secret = try #require(WebhookSecret(HookBackend.secret))
    let time = try #require(asked.request.fields["webhook-timestamp"].flatMap { Int64($0) })
    #expect(
      asked.request.fields["webhook-signature"]
        == secret.signature(
          id: asked.request.fields["webhook-id"] ?? "", timestamp: time,
          body: try await asked.request.body.collect(upTo: 1 << 20)))
  }

  @Test("RULES §3.9: a hook that gives no answer fails closed", arguments: HookBackend.failures.indices)
  func failures(index: Int) async throws {
    let (words, answer) = HookBackend.failures[index]
    let backend = HookBackend()
    backend.answer(Self.name, answer)
    let server = try await Self.server(backend)
    let body = AppleServer.body(try await server.sheet())
    for response in [try await server.grant(body), try await server.server.ask(.post, "/signup", "{}")] {
      #expect(response.status == 503, "\(words)")
      #expect(response.fields["retry-after"] == "5")
      let code = try await response.json["code"]?.string
      #expect(code == (words == "hangs" ? "hook_timeout" : "hook_failed"), "\(words)")
    }
    #expect(try await Self.rows(server) == 0, "\(words)")
    #expect(server.server.whole.lines.values.contains { $0.contains("hook_failed") })
  }

  @Test("the address is one that others can read, also where a /64 is counted")
  func address() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    #expect(
      try await server.server.ask(.post, "/signup", "{}", peer: "2001:db8:1:2:3:4:5:6").status == 200)
    let told = backend.asked.values.first?.body["metadata"]?["ip_address"]?.string ?? ""
    #expect(told == "2001:0db8:0001:0002::")
    #expect(IPAddress(told)?.countingName == IPAddress("2001:db8:1:2:3:4:5:6")?.countingName)
  }

  @Test("only who is new is asked about")
  func known() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    _ = try await server.signIn()
    backend.answer(Self.name, 500, "")
    _ = try await server.signIn()
    #expect(backend.count(Self.name) == 1)
  }

  @Test("where nobody new is let in, nobody is asked")
  func closed() async throws {
    let backend = HookBackend()
    let server = try await AppleServer(
      {
        HookBackend.configure([Self.name], &$0)
        $0.auth?.signUps = false
      }, outside: { try await backend.respond(to: $0) })
    #expect(try await server.grant(AppleServer.body(try await server.sheet())).status == 422)
    #expect(backend.asked.values.isEmpty)
  }

  @Test(
    "RULES §3.9: no transaction is open while the hook thinks, and what it thought of is looked at once more")
  func rechecked() async throws {
    let backend = HookBackend()
    let server = try await Self.server(backend)
    let second = try await server.sheet()
    let first = AppleServer.body(try await server.sheet())
    let other = Recorder<ClientSession>()
    backend.answer(Self.name) { _ in
      // The first call's hook lets the same person in on another phone meanwhile.
      backend.answer(Self.name, "{}")
      other.append(try await ClientSession(server.grant(AppleServer.body(second))))
      return HTTPResponse(status: 204)
    }
    let session = try await ClientSession(server.grant(first))
    #expect(other.values.map(\.userID) == [session.userID])
    #expect(try await storedUsers(server.server).users(offset: 0, limit: 9).total == 1)
  }
}
