import Admission
import AppAttest
import Foundation
import Gateway
import SQL
import Stores
import Synchronization
import System
import Testing

/// A crash is played by copying the file and its log while the load runs: what is in them at that moment is what
/// a killed process leaves. Checkpoints are off, so that the file itself does not change under the copy, and a
/// log that is cut anywhere is what a crash in the middle of writing leaves.
@Suite("Crashes") struct CrashTests {
  private final class Load: Sendable {
    let answered = Locked<[[UInt8]: (key: Int, counter: UInt32)]>([:])
    let isOver = Atomic(false)
  }

  private let charges = [Requests.running(1_000), Requests.daily(100_000), Requests.money(40, of: 1 << 40)]

  @Test("RULES §1.5: what was answered before a crash is there after it, and no counter passes twice")
  func killedUnderLoad() async throws {
    let fixture = try await StoreFixture(.disk, tuning: DatabaseTuning(checkpointPages: 0))
    try await fixture.registerMany(4)
    let load = Load()
    let crashes = try await withThrowingTaskGroup(of: [Crash].self) { group in
      group.addTask {
        var crashes: [Crash] = []
        while !load.isOver.load(ordering: .acquiring) {
          crashes.append(try Crash(of: fixture, answered: load.answered.withLock { $0 }))
          try await Task.sleep(for: .milliseconds(7))
        }
        return crashes
      }
      try await withThrowingTaskGroup { callers in
        for worker in 0..<16 {
          callers.addTask {
            for round in 1...25 {
              let counter = UInt32(worker / 4 * 25 + round)
              let number = worker * 100 + round
              let request = Requests.assertion(worker % 4, counter: counter, id: number, charges: charges)
              #expect(try await fixture.ledger.admit(request).isAdmitted)
              load.answered.withLock { $0[request.id] = (worker % 4, counter) }
              if round.isMultiple(of: 3) {
                try await fixture.ledger.settle(
                  Settlement(id: request.id, outcome: .used(cost: 7), now: Requests.now))
                _ = load.answered.withLock { $0.removeValue(forKey: request.id) }
              }
            }
          }
        }
        try await callers.waitForAll()
      }
      load.isOver.store(true, ordering: .releasing)
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(crashes.count > 1)
    for crash in crashes.suffix(12) { try await crash.check(charges) }
  }

  /// The files of one moment, and what callers had been answered before it.
  private final class Crash: Sendable {
    private let answered: [[UInt8]: (key: Int, counter: UInt32)]
    private let directory: URL
    private let path: String

    init(of fixture: StoreFixture, answered: [[UInt8]: (key: Int, counter: UInt32)]) throws {
      self.answered = answered
      directory = FileManager.default.temporaryDirectory.appending(path: "bramley-crash-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      path = directory.appending(path: "bramley.db").path
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: fixture.path + suffix, toPath: path + suffix)
      }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func check(_ charges: [Charge]) async throws {
      let database = try Database(.file(path))
      defer { database.close() }
      let ledger = SQLAdmissionLedger(database)
      var replays = 0
      for (_, request) in answered {
        let replay = Requests.assertion(request.key, counter: request.counter, id: 9_000_000 + replays)
        #expect(try await ledger.admit(replay).refusal == .counterReplayed)
        replays += 1
      }
      // Nothing was counted by halves: for every open reservation one request runs and 40 are held.
      let state = try await database.read { transaction in
        try await transaction.first(
          """
          select (select count(*) from reservations),
            (select coalesce(sum(held), 0) from lines l join rules r on r.id = l.rule where r.name = 'running'),
            (select coalesce(sum(held), 0) from lines l join rules r on r.id = l.rule where r.name = 'budget'),
            (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'daily'),
            (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'budget')
          """
        ) { [$0.int64(0), $0.int64(1), $0.int64(2), $0.int64(3), $0.int64(4)] }
      }
      let counts = try #require(state)
      #expect(counts[0] == counts[1])
      #expect(counts[2] == counts[0] * 40)
      #expect(counts[4] == (counts[3] - counts[0]) * 7)
      // The leases of the dead process end at the reserve.
      #expect(Int64(try await ledger.sweep(now: Requests.now + 60_001)) == counts[0])
      let after = try await database.read { transaction in
        try await transaction.first(
          """
          select sum(held), (select sum(used) from lines l join rules r on r.id = l.rule where r.name = 'budget')
          from lines
          """
        ) { [$0.int64(0), $0.int64(1)] }
      }
      #expect(after == [0, counts[4] + counts[2]])
    }
  }

  @Test("A log cut at any place loses whole commits from its end, and never half of one")
  func cutLog() async throws {
    let fixture = try await StoreFixture(.disk, tuning: DatabaseTuning(checkpointPages: 0))
    try await fixture.register(0)
    for number in 1...20 {
      let request = Requests.assertion(0, counter: UInt32(number), id: number, charges: charges)
      #expect(try await fixture.ledger.admit(request).isAdmitted)
    }
    let log = try Data(contentsOf: URL(filePath: fixture.path + "-wal"))
    var seen: Set<Int64> = []
    for part in 0..<24 {
      let path = fixture.path + "-cut\(part)"
      try FileManager.default.copyItem(atPath: fixture.path, toPath: path)
      try log.prefix(log.count - part * 5_003).write(to: URL(filePath: path + "-wal"))
      let database = try Database(.file(path))
      let state = try await database.read { transaction in
        try await transaction.first(
          """
          select (select highest from device_states), (select count(*) from reservations),
            (select sum(used) from lines l join rules r on r.id = l.rule where r.name = 'daily'),
            (select sum(held) from lines l join rules r on r.id = l.rule where r.name = 'budget')
          """
        ) { [$0.int64(0), $0.int64(1), $0.int64(2), $0.int64(3)] }
      }
      let counts = try #require(state)
      #expect(counts == [counts[0], counts[0], counts[0], counts[0] * 40])
      seen.insert(counts[0])
      database.close()
    }
    #expect(seen.contains(20) && seen.count > 5)
  }
}
