import Admission
import BramleyTesting
import SQL
import Stores
import System
import Testing

@Suite("Waiting for PostgreSQL", .serialized, TestPostgres.required) struct NodeWaitTests {
  @Test("A connection that is killed while its first flight waits for locks: decided anew, and counts once")
  func killedInFirstFlight() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000)
    try await fixture.register(1)
    let ledger = fixture.nodes[0].ledger
    for counter in 1...3 {
      let request = Requests.assertion(0, counter: UInt32(counter), id: counter, charges: [Requests.daily(5)])
      #expect(try await ledger.admit(request).isAdmitted)
    }
    async let decision = fixture.nodes[1].database.holding("select 1 from lines for update") {
      let request = Requests.assertion(0, counter: 4, id: 4, charges: [Requests.daily(5)])
      async let decision = ledger.admit(request)
      let waiting = "from pg_stat_activity where wait_event_type = 'Lock' and query like '%from lines l%'"
      while try await fixture.number("select count(*) \(waiting)") == 0 {
        try await Task.sleep(for: .milliseconds(5))
      }
      fixture.server.tell("sql select pg_terminate_backend(pid) \(waiting)")
      // It comes again, and waits again.
      while try await fixture.number("select count(*) \(waiting)") == 0 {
        try await Task.sleep(for: .milliseconds(5))
      }
      fixture.server.tell(
        "sql select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%' and pid <> pg_backend_pid()"
      )
      return try await decision
    }
    #expect(try await decision.isAdmitted)
    #expect(try await fixture.sums("daily") == (4, 0))
  }

  @Test("A flight that fails for want of a lock counts nothing, and the connection serves the next")
  func lockTimeout() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 4_000)
    try await fixture.register(1)
    let ledger = fixture.nodes[0].ledger
    func admit(_ counter: Int) async throws -> Bool {
      try await ledger.admit(
        Requests.assertion(0, counter: UInt32(counter), id: counter, charges: [Requests.daily(5)])
      ).isAdmitted
    }
    for counter in 1...3 { #expect(try await admit(counter)) }
    var settings = fixture.settings
    settings.statementTimeout = 60_000
    let patient = try Database(.postgreSQL(settings))
    defer { patient.close() }
    try await patient.holding("select 1 from lines for update") {
      for counter in 4...5 {
        await #expect(throws: DatabaseError.timedOut) { _ = try await admit(counter) }
      }
    }
    #expect(try await admit(6))
    #expect(try await admit(4))
    #expect(try await fixture.sums("daily") == (5, 0))
  }

  @Test("Frozen: the loop whose requests wait for PostgreSQL goes on, and they are answered after")
  func loops() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    // The callers', and that of every connection.
    let loop = loops.loops[0]
    let fixture = try await NodeFixture(nodes: 1, statementTimeout: 60_000, loops: loops)
    let node = fixture.nodes[0]
    defer { node.database.close() }
    try await fixture.register(8)
    let (ledger, keys) = (node.ledger, node.keys)
    for key in 0..<8 {
      let request = Requests.assertion(key, counter: 1, id: key, charges: [Requests.daily(5)])
      #expect(try await ledger.admit(request).isAdmitted)
    }
    let (turns, posted, answered) = (Locked(0), Locked(0), Locked(0))
    fixture.server.tell("freeze")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for key in 0..<8 {
        group.addTask(executorPreference: loop) {
          posted.withLock { $0 += 1 }
          let request = Requests.assertion(key, counter: 2, id: 100 + key, charges: [Requests.daily(5)])
          let isAdmitted = try await ledger.admit(request).isAdmitted
          #expect(isAdmitted)
          #expect(loop.isCurrent)
          answered.withLock { $0 += 1 }
        }
        group.addTask(executorPreference: loop) {
          posted.withLock { $0 += 1 }
          let found = try await keys.key(StoreFixture.keyID(key))
          #expect(found != nil)
          answered.withLock { $0 += 1 }
        }
      }
      // Whatever else the same loop has to do meanwhile.
      let turning = loop.run {
        while !Task.isCancelled {
          turns.withLock { $0 += 1 }
          try? await loop.sleep(for: .milliseconds(1))
        }
      }
      for _ in 0..<1_000 where posted.withLock({ $0 }) < 16 { try await Task.sleep(for: .milliseconds(10)) }
      #expect(posted.withLock { $0 } == 16)
      let before = turns.withLock { $0 }
      try await Task.sleep(for: .seconds(1))
      // A thousand where nothing else runs; none where anything blocks it.
      #expect(turns.withLock { $0 } - before > 20)
      #expect(answered.withLock { $0 } == 0)
      turning.cancel()
      fixture.server.tell("thaw")
      try await group.waitForAll()
    }
    #expect(answered.withLock { $0 } == 16)
    #expect(try await fixture.sums("daily") == (16, 0))
  }

  @Test("A batch that was given up while the server was frozen holds no lock when it thaws")
  func givenUp() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 2_000)
    try await fixture.register(1)
    func admit(_ counter: Int, on node: Int) async throws -> Bool {
      try await fixture.nodes[node].ledger.admit(
        Requests.assertion(0, counter: UInt32(counter), id: counter, charges: [Requests.daily(9)])
      ).isAdmitted
    }
    for counter in 1...4 { #expect(try await admit(counter, on: counter % 2)) }
    fixture.server.tell("freeze")
    await #expect(throws: DatabaseError.timedOut) { _ = try await admit(5, on: 0) }
    fixture.server.tell("thaw")
    // What the frozen server was asked for it does now, for a connection that must not be there any more.
    #expect(try await admit(6, on: 1))
    #expect(try await admit(7, on: 0))
    #expect(try await fixture.sums("daily") == (6, 0))
  }
}
