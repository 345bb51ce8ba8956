import Cryptography
import Encodings
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("kill -9 amid deletions", .serialized)
struct DeletionKillTests {
  /// Somebody who asked for the deletion of their account.
  private struct Leaver: Sendable {
    var bearer: String
    var operation = Hex.encode(SecureRandom.bytes(16))
    /// The state that was answered; nil without an answer.
    var answered: String?
    var user: String
  }

  @Test("RULES §4.1: whatever the server was doing, each deletion ends, once, and its client learns it")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    var server = try await DevelopmentServer()
    var leavers: [Leaver] = []
    for kill in 1...max(Killing.times / 2, 2) {
      let app = Calls(network: network, base: server.base)
      let program = server.program
      leavers += await withTaskGroup(of: [Leaver].self) { group in
        for worker in 0..<3 { group.addTask { await Self.leave("\(kill)-\(worker)", app) } }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 300...1_200)))
        program.kill(SIGKILL)
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(try await program.exitCode() == SIGKILL)
      try OnlineCopy.check(server.folder.path("data") + "/bramley.sqlite")
      server = try await DevelopmentServer(after: server)
    }
    let app = Calls(network: network, base: server.base)
    let unanswered = leavers.count { $0.answered == nil }
    print("kill -9 amid deletions: \(leavers.count) people, \(unanswered) unanswered")
    #expect(leavers.count > 2)
    for leaver in leavers {
      // What was answered stays true, and what was not can be asked again.
      if leaver.answered == "deleted" { #expect(try await app.state(leaver.operation) == "deleted") }
      _ = try await app.delete(leaver)
    }
    // What ran when the server died goes on when its lease is over.
    let deadline = ContinuousClock.now + .seconds(90)
    for leaver in leavers {
      var state = try await app.state(leaver.operation)
      while state != "deleted", ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(200))
        state = try await app.state(leaver.operation)
      }
      #expect(state == "deleted")
      #expect(try await app.delete(leaver) == "deleted")
    }
    let database = try Database(.readOnlyFile(server.folder.path("data") + "/bramley.sqlite"))
    defer { database.close() }
    let counts = try await database.read {
      try await $0.rows(
        """
        select (select count(*) from users where deleting_since is not null),
          (select count(*) from deletions where state <> 3), (select count(*) from deletion_tokens),
          (select count(*) from deletions), (select count(distinct user_id) from deletions)
        """
      ) { row in (0..<5).map { row.int64(Int32($0)) } }
    }
    #expect(counts == [[0, 0, 0, Int64(leavers.count), Int64(leavers.count)]])
    #expect(try await server.stop() == 0)
  }

  /// People one after another sign in and delete their accounts, until the server is gone.
  private static func leave(_ name: String, _ app: Calls) async -> [Leaver] {
    var leavers: [Leaver] = []
    while true {
      do {
        var leaver = try await app.signIn("\(name)-\(leavers.count)@example.com")
        leavers.append(leaver)
        leaver.answered = try await app.delete(leaver)
        leavers[leavers.count - 1] = leaver
      } catch {
        return leavers
      }
    }
  }

  /// An app's calls.
  private struct Calls: Sendable {
    let network: HTTPClient
    let base: String

    func signIn(_ account: String) async throws -> Leaver {
      let doors = "/simulated-apple/simulator"
      _ = try await send(
        .post, doors + "/accounts",
        ["email": .string(account), "first_name": "A", "last_name": "B"])
      let nonce = Hex.encode(SecureRandom.bytes(16))
      let sheet = try await send(
        .post, doors + "/sign-in",
        [
          "account": .string(account), "client_id": "com.example.bramley",
          "nonce": .string(Hex.encode(SHA256.hash(nonce))),
        ]
      ).json
      let session = try await send(
        .post, "/auth/v1/token?grant_type=id_token",
        [
          "provider": "apple", "id_token": .string(sheet["identity_token"]?.string ?? ""),
          "nonce": .string(nonce), "authorization_code": .string(sheet["authorization_code"]?.string ?? ""),
        ]
      ).json
      return Leaver(
        bearer: try #require(session["access_token"]?.string),
        user: try #require(session["user"]?["id"]?.string))
    }

    /// The state that is answered.
    func delete(_ leaver: Leaver) async throws -> String? {
      let (status, json) = try await send(
        .delete, "/auth/v1/user", ["operation_id": .string(leaver.operation)], leaver.bearer)
      #expect(status == 200 || status == 202, "\(status) \(json.value.text)")
      return json["state"]?.string
    }

    func state(_ operation: String) async throws -> String? {
      try await send(.get, "/auth/v1/deletions/\(operation)").json["state"]?.string
    }

    private func send(
      _ method: HTTPMethod, _ target: String, _ body: JSONValue? = nil, _ bearer: String? = nil
    ) async throws -> (status: Int, json: JSONNode) {
      var fields: HTTPFields = ["content-type": "application/json"]
      if let bearer { fields["authorization"] = "Bearer \(bearer)" }
      let response = try await network.respond(
        to: HTTPRequest(
          method: method, scheme: "http", authority: String(base.dropFirst("http://".count)),
          target: target, fields: fields, body: body.map { HTTPBody($0.bytes) } ?? .empty))
      return (response.status, try JSONReader.read(try await response.body.collect(upTo: 1 << 20)))
    }
  }
}
