import BramleyTesting
import Glibc
import SQL
import System
import Testing

/// That the driver lives on event loops, and keeps none of them.
@Suite("PostgreSQL on the event loops", TestPostgres.required) struct PostgresLoopTests {
  /// Runs the body with loops that the database does not own; they are stopped after it.
  private func withLoops<Value>(
    _ count: Int, _ body: (TestDatabase, EventLoopGroup) async throws -> Value
  ) async throws -> Value {
    let loops = try EventLoopGroup(loops: count)
    defer { loops.stop() }
    let test = try await TestDatabase(.postgreSQL, loops: loops)
    let result: Result<Value, any Error>
    do { result = .success(try await body(test, loops)) } catch { result = .failure(error) }
    test.database.close()
    return try result.get()
  }

  /// Milliseconds that this thread has worked.
  private static var threadTime: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  private static func spin(milliseconds: Int64) {
    let end = threadTime + milliseconds
    while threadTime < end {}
  }

  private struct Alone: Error {}

  /// Keeps the transaction open until so many are.
  private static func meet(_ count: Int, _ open: Locked<Int>, _ transaction: Transaction) async throws {
    open.withLock { $0 += 1 }
    let deadline = MonotonicTime.now + .seconds(60)
    while open.withLock({ $0 }) < count {
      guard .now < deadline else { throw Alone() }
      try await transaction.forEach("select pg_sleep(0.01)") { _ in }
    }
  }

  private static var currentLoop: ObjectIdentifier? { EventLoop.current.map(ObjectIdentifier.init) }

  @Test("Transactions that are open at the same time share a loop, on which each goes on after every answer")
  func shared() async throws {
    try await withLoops(1) { test, loops in
      let database = test.database
      let open = Locked(0)
      let processes = try await withThrowingTaskGroup(of: Int64.self) { group in
        for _ in 0..<3 {
          group.addTask {
            try await database.read { transaction in
              #expect(Self.currentLoop == ObjectIdentifier(loops.loops[0]))
              let process = try await transaction.first("select pg_backend_pid()") { $0.int64(0) }
              #expect(Self.currentLoop == ObjectIdentifier(loops.loops[0]))
              // On one thread that passes only if none of them keeps it.
              try await Self.meet(3, open, transaction)
              #expect(Self.currentLoop == ObjectIdentifier(loops.loops[0]))
              return process ?? 0
            }
          }
        }
        return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
      }
      #expect(processes.count == 3)
    }
  }

  @Test("A caller on a loop is served there if a connection of it is free, and goes on there in any case")
  func home() async throws {
    try await withLoops(3) { test, loops in
      let database = test.database
      for loop in loops.loops {
        // Twice: the first makes the connection.
        for _ in 0..<2 {
          let (inside, after) = try await loop.runThrowing {
            let inside = try await database.read { transaction in
              try await transaction.forEach("select 1") { _ in }
              return Self.currentLoop
            }
            return (inside, Self.currentLoop)
          }.value
          #expect(loops.loops.contains { ObjectIdentifier($0) == inside })
          #expect(after == ObjectIdentifier(loop))
        }
      }
      // All three are connected now.
      try await withThrowingTaskGroup(of: Void.self) { group in
        let open = Locked(0)
        for _ in 0..<3 {
          group.addTask {
            try await database.read { transaction in
              try await Self.meet(3, open, transaction)
            }
          }
        }
        try await group.waitForAll()
      }
      for loop in loops.loops {
        let inside = try await loop.runThrowing { try await database.read { _ in Self.currentLoop } }.value
        #expect(inside == ObjectIdentifier(loop))
      }
    }
  }

  @Test("A long answer is read in pieces, between which its loop sees to others")
  func longAnswer() async throws {
    try await withLoops(1) { test, loops in
      let loop = loops.loops[0]
      let (isReading, isOver) = (Locked(false), Locked(false))
      try await withThrowingTaskGroup(of: Int?.self) { group in
        group.addTask(executorPreference: loop) {
          var turns = 0
          while !isOver.withLock({ $0 }) {
            await loop.turn()
            if isReading.withLock({ $0 }) { turns += 1 }
          }
          return turns
        }
        group.addTask {
          defer { isOver.withLock { $0 = true } }
          let octets = try await test.database.read { transaction in
            var octets = 0
            try await transaction.forEach("select repeat('a', 100) from generate_series(1, 20000)") { row in
              isReading.withLock { $0 = true }
              octets += row.string(0).utf8.count
            }
            isReading.withLock { $0 = false }
            return octets
          }
          #expect(octets == 2_000_000)
          return nil
        }
        // Reading 20,000 rows takes milliseconds, each piece of them 200 µs.
        for try await turns in group { if let turns { #expect(turns >= 3) } }
      }
    }
  }

  @Test("A server that hangs up on an idle connection keeps its loop from nothing, and is asked again")
  func idleEnd() async throws {
    try await withLoops(1) { test, loops in
      let database = test.database
      let loop = loops.loops[0]
      func process() async throws -> Int64 {
        try await database.read { try await $0.first("select pg_backend_pid()") { $0.int64(0) } ?? 0 }
      }
      let first = try await process()
      let other = try Database(.postgreSQL(PostgresSettings(url: TestPostgres.shared ?? "")))
      defer { other.close() }
      _ = try await other.read { try await $0.first("select pg_terminate_backend(\(first))") { _ in true } }
      while try await other.read({ transaction in
        try await transaction.first("select 1 from pg_stat_activity where pid = \(first)") { _ in true }
          ?? false
      }) {}
      func busy() async -> Int64 { await loop.run { Self.threadTime }.value }
      let before = await busy()
      // A loop that is told of a descriptor without end gets about as much time as this, however busy the machine is.
      Self.spin(milliseconds: 300)
      let after = await busy()
      #expect(after - before < 100)
      let next = try await process()
      #expect(next != first)
    }
  }

  @Test(
    "A server that takes a connection and says nothing: the loop turns, and the caller hears of it in time")
  func silentServer() async throws {
    let listener = try SilentListener()
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    var settings = PostgresSettings(url: "postgresql://bramley@127.0.0.1:\(listener.port)/postgres")
    settings.connectTimeout = 3_000
    let database = try Database(.postgreSQL(settings), loops: loops)
    defer { database.close() }
    let loop = loops.loops[0]
    let isOver = Locked(false)
    async let turns = loop.run {
      var turns = 0
      while !isOver.withLock({ $0 }) {
        try? await loop.sleep(for: .milliseconds(2))
        turns += 1
      }
      return turns
    }.value
    await #expect(throws: DatabaseError.unavailable("no connection came about in time")) {
      try await database.read { try await $0.forEach("select 1") { _ in } }
    }
    isOver.withLock { $0 = true }
    let counted = await turns
    #expect(counted >= 5)
  }

  @Test("A database that is closed finishes what it took and refuses what comes, lanes made later too")
  func closing() async throws {
    try await withLoops(2) { test, loops in
      let database = test.database
      let loop = loops.loops[0]
      let taken = Locked(0)
      let done = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<40 {
          group.addTask(executorPreference: loop) {
            // In one piece with the reading until that has been handed over.
            taken.withLock { $0 += 1 }
            return try await database.read { transaction in
              try await transaction.forEach("select pg_sleep(0.01)") { _ in }
              return true
            }
          }
        }
        group.addTask(executorPreference: loop) {
          while taken.withLock({ $0 }) < 40 { await loop.turn() }
          database.close()
          return false
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(done == 40)
      await #expect(throws: DatabaseError.closed) { try await database.read { _ in } }
      let late: BatchLane<Int, Int> = database.lane({ NoDecider() }, among: { NoDecider() })
      await #expect(throws: DatabaseError.closed) { _ = try await late.submit(1) }
    }
  }

  private final class Observed: Sendable {
    private let kept = Locked(Loop())
    private struct Loop { weak var loop: EventLoop? }
    var loop: EventLoop? {
      get { kept.withLock { $0.loop } }
      set { kept.withLock { $0.loop = newValue } }
    }
  }

  @Test("A loop of its own ends with the database, whatever was used of it", arguments: [true, false])
  func ownLoop(isUsed: Bool) async throws {
    let observed = Observed()
    do {
      let test = try await TestDatabase(.postgreSQL)
      try await test.database.read { _ in observed.loop = EventLoop.current }
      #expect(observed.loop != nil)
      let lane: BatchLane<Int, Int> = test.database.lane({ NoDecider() }, among: { NoDecider() })
      // It answers fewer than it is asked: an error, and the lane goes on.
      if isUsed { await #expect(throws: DatabaseError.self) { _ = try await lane.submit(1) } }
      test.database.close()
    }
    let deadline = MonotonicTime.now + .seconds(60)
    while observed.loop != nil, .now < deadline { try await Task.sleep(for: .milliseconds(2)) }
    #expect(observed.loop == nil)
  }
}

/// Takes connections into its queue, and never says anything.
private final class SilentListener: Sendable {
  private let descriptor: Int32
  let port: UInt16

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
        unsafe bind(descriptor, general, length) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, general, &length) == 0
      }
    }
    try #require(isListening)
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }
}
