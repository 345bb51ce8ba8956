import Encodings
import Glibc
import HTTPMessages
import SQL
import Synchronization
import System
import Testing
import Transport

@Suite("kill -9 amid deliveries of events", .serialized)
struct EventKillTests {
  /// An event that the database holds.
  private struct Stored: Hashable {
    var id: String
    var type: String
    var user: String
  }

  @Test("every event of a committed change is delivered at least once under one id, and no other event ever")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let backend = Backend { try await loops.next().sleep(for: $0) }
    let endpoint = try await HTTPServer(
      backend, on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    let more = ["--events", "http://\(endpoint.addresses[0])/events"]
    var server = try await DevelopmentServer(more: more)
    let file = server.folder.path("data") + "/bramley.sqlite"
    var kills = 0
    // As often as is asked for, and until enough came to say something by: a busy machine makes little between kills.
    while kills < max(Killing.times / 3, 2) || (backend.count <= 10 && kills < 20) {
      kills += 1
      let kill = kills
      let app = AccountApp(network, bases: [server.base])
      let program = server.program
      let known = backend.count
      await withTaskGroup { group in
        for worker in 0..<3 { group.addTask { _ = await app.live("\(kill)-\(worker)") } }
        // Not before it delivers; then at any moment.
        while backend.count == known, program.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 0...400)))
        program.kill(SIGKILL)
        await group.waitForAll()
      }
      #expect(try await program.exitCode() == SIGKILL)
      try OnlineCopy.check(file)
      // What the dead process had claimed is due when its lease is over: now, so that nobody waits for a minute.
      let database = try Database(.file(file))
      _ = try await database.write {
        try await $0.execute("update outgoing_events set next_try = 0 where state = 0")
      }
      database.close()
      server = try await DevelopmentServer(more: more, after: server)
    }
    let database = try Database(.readOnlyFile(file))
    defer { database.close() }
    let deadline = ContinuousClock.now + .seconds(120)
    var left = try await Self.left(database)
    while left > 0, ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(100))
      left = try await Self.left(database)
    }
    #expect(left == 0)
    let stored = try await database.read {
      try await $0.rows("select webhook_id, type, user_id from outgoing_events") {
        Stored(id: $0.string(0), type: $0.string(1), user: $0.string(2))
      }
    }
    let received = backend.received
    print(
      "kill -9 amid deliveries: \(stored.count) events, \(received.values.reduce(0) { $0 + $1.count }) deliveries"
    )
    #expect(stored.count > 10 && Set(stored.map(\.id)).count == stored.count)
    #expect(Set(received.keys) == Set(stored.map(\.id)))
    for event in stored {
      let bodies = Set(received[event.id] ?? [])
      #expect(bodies.count == 1, "an event is the same whenever it comes")
      let json = try JSONReader.read(bodies.first ?? [])
      #expect(json["type"]?.string == event.type && json["data"]?["user_id"]?.string == event.user)
    }
    try await Self.compare(stored, with: database)
    #expect(try await server.stop() == 0)
    await endpoint.shutdown(within: .seconds(1))
  }

  /// Each change is written to the audit log in its transaction, as its event is.
  private static func compare(_ stored: [Stored], with database: Database) async throws {
    for (type, action) in [
      ("user.created", "user_signedup"), ("user.signed_in", "login"), ("user.linked", "identity_linked"),
    ] {
      let changed = try await database.read {
        try await $0.rows(
          "select lower(hex(user_id)) from audit_log where action = $1 and result = 'done'", [.text(action)]
        ) { $0.string(0) }
      }
      #expect(
        changed.sorted() == stored.filter { $0.type == type }.map { $0.user.filter { $0 != "-" } }.sorted(),
        "\(type)")
    }
  }

  private static func left(_ database: Database) async throws -> Int64 {
    try await database.read {
      try await $0.first("select count(*) from outgoing_events where state <> 1") { $0.int64(0) } ?? -1
    }
  }
}

/// An app's backend, which takes every event, some of them slowly.
private final class Backend: HTTPHandler {
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state = Mutex<[String: [[UInt8]]]>([:])

  init(sleep: @escaping @Sendable (Duration) async throws -> Void) { self.sleep = sleep }

  /// The bodies that came, by their ids.
  var received: [String: [[UInt8]]] { state.withLock { $0 } }
  var count: Int { state.withLock { $0.count } }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let body = try await request.body.collect(upTo: 1 << 20)
    let id = request.fields["webhook-id"] ?? ""
    state.withLock { $0[id, default: []].append(body) }
    // The sender may die before it hears of it.
    try await sleep(.milliseconds(Int.random(in: 0...40)))
    return HTTPResponse(status: 204)
  }
}
