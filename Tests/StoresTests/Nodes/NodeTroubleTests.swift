import Admission
import BramleyTesting
import Foundation
import SQL
import Stores
import Synchronization
import System
import Testing

@Suite("Trouble with PostgreSQL", .serialized, TestPostgres.required) struct NodeTroubleTests {
  private final class Load: Sendable {
    let answered = Locked<[(key: Int, counter: UInt32, id: [UInt8])]>([])
    let failures = Locked<[String]>([])
    let unknown = Atomic(0)
    let isOver = Atomic(false)
  }

  private func run(_ fixture: NodeFixture, _ load: Load, tasks: Int) async {
    await withTaskGroup { group in
      for task in 0..<tasks {
        group.addTask {
          var counter: UInt32 = 0
          while !load.isOver.load(ordering: .acquiring) {
            counter += 1
            let id = task * 100_000 + Int(counter)
            let request = Requests.assertion(
              task, counter: counter, id: id,
              charges: [Requests.daily(1_000_000, .everyone), Requests.running(1_000_000)])
            do {
              let decision = try await fixture.nodes[task % fixture.nodes.count].ledger.admit(request)
              #expect(decision.isAdmitted)
              load.answered.withLock { $0.append((task, counter, request.id)) }
            } catch {
              load.failures.withLock { $0.append("\(error)") }
              switch error as? DatabaseError {
              case .unavailable: try? await Task.sleep(for: .milliseconds(5))
              case .outcomeUnknown, .timedOut: load.unknown.add(1, ordering: .relaxed)
              default: Issue.record("\(error)")
              }
            }
          }
        }
      }
    }
  }

  @Test(
    "Stopped, restarted and crashed under load: nothing answered is lost, nothing doubled, and it goes on")
  func restarts() async throws {
    let fixture = try await NodeFixture(nodes: 2)
    try await fixture.register(8)
    let load = Load()
    async let running: Void = run(fixture, load, tasks: 8)
    for command in ["restart", "crash", "stop", "start", "crash"] {
      try await Task.sleep(for: .milliseconds(300))
      fixture.server.tell(command)
    }
    // The server may be slower than its orders: until somebody has felt one of them.
    for _ in 0..<600 where load.failures.withLock({ $0.isEmpty }) {
      try await Task.sleep(for: .milliseconds(100))
    }
    // It recovers by itself.
    let before = load.answered.withLock { $0.count }
    for _ in 0..<600 where load.answered.withLock({ $0.count }) < before + 50 {
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(load.answered.withLock { $0.count } >= before + 50)
    load.isOver.store(true, ordering: .releasing)
    await running
    // Each node pauses for itself between its attempts to connect.
    for node in fixture.nodes {
      for _ in 0..<600 where await !node.database.isReady() { try await Task.sleep(for: .milliseconds(100)) }
    }
    let answered = load.answered.withLock { $0 }
    let unknown = Int64(load.unknown.load(ordering: .relaxed))
    #expect(load.failures.withLock { !$0.isEmpty })
    let reservations = try await fixture.number("select count(*) from reservations")
    #expect(reservations >= answered.count && reservations <= Int64(answered.count) + unknown)
    #expect(try await fixture.sums("daily") == (reservations, 0))
    #expect(try await fixture.sums("running") == (0, reservations))
    for request in answered.shuffled().prefix(40) {
      let replay = Requests.assertion(request.key, counter: request.counter, id: 90_000_000)
      #expect(try await fixture.nodes[0].ledger.admit(replay).refusal == .counterReplayed)
    }
    let ids = answered.map(\.id)
    let found = try await fixture.nodes[1].database.read {
      try await $0.first("select count(*) from reservations where id = any($1)", [.blobs(ids)]) {
        $0.int64(0)
      }
    }
    #expect(found == Int64(ids.count))
  }

  @Test("A connection that breaks before its commit: the batch is decided anew, and counts once")
  func brokenBefore() async throws {
    let fixture = try await NodeFixture(nodes: 1)
    try await fixture.register(1)
    try await fixture.nodes[0].database.write {
      try await $0.script(
        """
        create sequence fuse;
        create function burn() returns trigger language plpgsql as $$ begin
          if nextval('fuse') = 1 then perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); end if;
          return null; end $$;
        create constraint trigger burns after insert on reservations deferrable initially deferred
          for each row execute function burn();
        """)
    }
    let request = Requests.assertion(0, counter: 1, id: 1, charges: [Requests.daily(5)])
    #expect(try await fixture.nodes[0].ledger.admit(request).isAdmitted)
    #expect(try await fixture.sums("daily") == (1, 0))
    #expect(try await fixture.number("select last_value from fuse") >= 2)
  }

  @Test(
    "RULES §5.5: a commit whose answer is lost is looked up by its reservation, and the caller is answered")
  func lostAnswer() async throws {
    let fixture = try await NodeFixture(nodes: 2)
    try await fixture.register(1)
    // Warm: the rule's period is there, and the connections are open.
    let charges = [Requests.daily(5)]
    #expect(
      try await fixture.nodes[0].ledger.admit(Requests.assertion(0, counter: 1, id: 1, charges: charges))
        .isAdmitted)
    // A commit that waits for a standby that is not there is durable here, and its answer never comes.
    fixture.server.tell("sql alter system set synchronous_standby_names = 'nobody'")
    fixture.server.tell("sql select pg_reload_conf()")
    try await Task.sleep(for: .milliseconds(200))
    async let decision = fixture.nodes[0].ledger.admit(
      Requests.assertion(0, counter: 2, id: 2, charges: charges))
    try await Task.sleep(for: .milliseconds(400))
    fixture.server.tell(
      "sql select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
    #expect(try await decision.isAdmitted)
    fixture.server.tell("sql alter system reset synchronous_standby_names")
    fixture.server.tell("sql select pg_reload_conf()")
    #expect(try await fixture.sums("daily") == (2, 0))
    #expect(try await fixture.number("select count(*) from reservations") == 2)
  }

  @Test("A server that only reads says so on every write, and reads go on")
  func readOnly() async throws {
    let fixture = try await NodeFixture(nodes: 1)
    try await fixture.register(1)
    var settings = fixture.settings
    settings.url += "&options=-c%20default_transaction_read_only%3Don"
    let database = try Database(.postgreSQL(settings))
    defer { database.close() }
    await #expect(throws: DatabaseError.readOnly) {
      try await SQLAdmissionLedger(database).admit(Requests.assertion(0, counter: 1, id: 1))
    }
    #expect(try await SQLDeviceKeyStore(database).key(StoreFixture.keyID(0)) != nil)
    #expect(try await fixture.nodes[0].ledger.admit(Requests.assertion(0, counter: 1, id: 2)).isAdmitted)
  }

  @Test("A server with fewer connections than the pool wants: those that there are serve all")
  func fewConnections() async throws {
    let fixture = try await NodeFixture(nodes: 1)
    fixture.server.tell("sql create role app login connection limit 2")
    fixture.server.tell("sql grant all on schema \(fixture.settings.schema) to app")
    var settings = fixture.settings
    settings.url = settings.url.replacingOccurrences(of: "user=bramley", with: "user=app")
    settings.connections = 6
    let database = try Database(.postgreSQL(settings))
    defer { database.close() }
    let sum = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try await database.read {
            try await $0.first("select 1 from pg_sleep(0.02)") { $0.int64(0) } ?? 0
          }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 40)
  }

  @Test("What takes too long is stopped, and the connection serves the next")
  func slow() async throws {
    let fixture = try await NodeFixture(nodes: 1, statementTimeout: 300)
    await #expect(throws: DatabaseError.timedOut) {
      try await fixture.nodes[0].database.read { _ = try await $0.first("select pg_sleep(20)") { _ in true } }
    }
    #expect(try await fixture.number("select 7") == 7)
  }

  @Test("A server that is nowhere is said so at once, without its password")
  func nowhere() async throws {
    let database = try Database(
      .postgreSQL(PostgresSettings(url: "postgresql://u:hunter2@127.0.0.1:1/d?sslmode=disable")))
    defer { database.close() }
    for _ in 0..<20 {
      await #expect {
        try await database.read { _ = try await $0.first("select 1") { _ in true } }
      } throws: {
        guard case DatabaseError.unavailable = $0 else { return false }
        return !"\($0)".contains("hunter2")
      }
    }
    #expect(throws: DatabaseError.self) { try Database(.postgreSQL(PostgresSettings(url: "mysql://x"))) }
  }
}
