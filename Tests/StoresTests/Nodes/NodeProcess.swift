import Admission
import Foundation
import Gateway
import SQL
import Stores

/// What a process of its own does as one of several nodes; it notes in a file what was admitted.
struct NodeProcess: Codable, Sendable {
  var url: String
  var schema: String
  /// Which of the nodes it is.
  var node: Int
  var tasks: Int
  var rounds: Int
  /// Where it notes; each line is written at once, so that a kill loses what is not answered only.
  var notes: String
  /// After so many admissions it dies, as by kill -9; 0: never.
  var diesAfter = 0
  /// When the tasks start, seconds since 1970.
  var start: Double

  static let next = Window(id: "2027-01-16", start: Requests.day.end, end: Requests.day.end + 86_400_000)

  /// Opens the database and runs the work of each of its tasks, given its number among all nodes' tasks.
  func run(_ work: @escaping @Sendable (Int, SQLAdmissionLedger, Notes) async throws -> Void) async throws {
    var settings = StoreFixture.postgres(url)
    settings.schema = schema
    let database = try Database(.postgreSQL(settings))
    let ledger = SQLAdmissionLedger(database, clock: .caller)
    // Connected and warm before the start.
    _ = try await ledger.remaining(
      keyID: StoreFixture.keyID(0), charges: [Requests.daily(1)], now: Requests.now)
    let notes = try Notes(notes, diesAfter: diesAfter)
    try await Task.sleep(for: .seconds(max(0, start - Date().timeIntervalSince1970)))
    let begun = Date().timeIntervalSince1970
    try await withThrowingTaskGroup { group in
      for number in 0..<tasks {
        group.addTask { try await work(node * tasks + number, ledger, notes) }
      }
      try await group.waitForAll()
    }
    await notes.write("time \(begun) \(Date().timeIntervalSince1970)")
    database.close()
  }

  /// Tasks of all nodes send the same counters for the same keys, across the turn of a day.
  func race(_ task: Int, _ ledger: SQLAdmissionLedger, _ notes: Notes) async throws {
    for round in 0..<rounds {
      let key = (task / 8 + round) % 8
      let counter = UInt32(round * 8 + task % 8 / 2 + 1)
      let isLate = round >= rounds / 2
      let now = isLate ? Self.next.start + 5 : Requests.now
      let window = isLate ? Self.next : Requests.day
      let charges = [
        Requests.daily(30, .key, window: window), Requests.daily(100, .everyone, window: window),
        Requests.money(40, of: 6_000, .everyone), Requests.running(1_000), Requests.burst(every: 1, 1_000),
        Requests.daily(1_000, .address("192.0.2.\(task % 5)"), window: window),
      ].shuffled()
      // The process's number keeps those apart that come after a death.
      let id = (Int(ProcessInfo.processInfo.processIdentifier) << 20) + task << 8 + round
      let request = Requests.assertion(key, counter: counter, id: id, charges: charges, now: now)
      guard try await ledger.admit(request).isAdmitted else { continue }
      await notes.write("admitted \(key)/\(counter)")
      guard round.isMultiple(of: 2) else { continue }
      let usage = UsageRecord(
        keyID: nil, userID: nil, route: "r", provider: "p", model: "m", status: 200, cost: 25, startedAt: now)
      if try await !ledger.settle(
        Settlement(id: request.id, outcome: .used(cost: 25), now: now, usage: usage))
      {
        await notes.write("lost \(key)/\(counter)")
      }
    }
  }

  /// Each task has a key of its own, and all share one budget.
  func measure(_ task: Int, _ ledger: SQLAdmissionLedger, _ notes: Notes) async throws {
    for round in 1...rounds {
      let charges = [
        Requests.running(1_000_000), Requests.daily(1_000_000), Requests.money(1, of: 1 << 40, .everyone),
      ]
      let id = (Int(ProcessInfo.processInfo.processIdentifier) << 20) + task << 10 + round
      // Above every counter of a measurement before.
      let counter = UInt32(Int(start) & 0xFF_FFFF) << 7 + UInt32(round)
      guard
        try await ledger.admit(Requests.assertion(task, counter: counter, id: id, charges: charges))
          .isAdmitted
      else { await notes.write("refused \(task)/\(counter)"); continue }
    }
  }

  /// Lines of a file, each written at once.
  actor Notes {
    private let file: FileHandle
    private let diesAfter: Int
    private var count = 0

    init(_ path: String, diesAfter: Int) throws {
      try Data().write(to: URL(filePath: path))
      file = try FileHandle(forWritingTo: URL(filePath: path))
      self.diesAfter = diesAfter
    }

    func write(_ line: String) {
      try? file.write(contentsOf: Data((line + "\n").utf8))
      count += 1
      if count == diesAfter { kill(getpid(), SIGKILL) }
    }
  }
}
