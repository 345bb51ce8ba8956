import Admission
import AppAttest
import Cryptography
import Foundation
import Gateway
import SQL
import Stores
import System

/// A process that admits without HTTP, as one of several nodes of a database.
enum AdmissionNode {
  private static let keys = 64
  private static let rounds = 150
  private static let anchor = [UInt8](repeating: 9, count: 32)

  /// Makes the schema and registers a key for each task.
  static func prepare(_ place: String) async throws {
    let database = try open(place)
    defer { database.close() }
    try await Schema.migrate(database, now: WallClock.seconds)
    let store = SQLDeviceKeyStore(database)
    for number in 0..<keys {
      let key = DeviceKey(
        keyID: name(number), publicKey: [4] + [UInt8](repeating: UInt8(number), count: 64),
        appID: Workload.appID, environment: .production, anchor: anchor, registeredAt: WallClock.seconds,
        facts: DeviceFacts(osVersion: nil, validationCategory: nil))
      _ = try await store.register(
        key, receipt: [], challenge: SecureRandom.bytes(16),
        challengeExpiry: WallClock.seconds + 300)
    }
  }

  /// Admissions a second of 64 tasks, shared out among processes.
  ///
  /// - Parameter run: counts measurements of a database: counters go on from the last.
  static func rate(_ place: String, processes: Int, run: Int) throws -> Double {
    let start = Date().timeIntervalSince1970 + 1.5
    let pipes = try (0..<processes).map { node in
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(filePath: Benchmarks.program)
      process.arguments = ["node", place, "\(node)", "\(keys / processes)", "\(run)", "\(start)"]
      process.standardOutput = output
      try process.run()
      return output
    }
    let times = pipes.map { pipe in
      String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        .split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }
    guard times.allSatisfy({ $0.count == 2 }), let first = times.compactMap(\.first).min(),
      let last = times.compactMap(\.last).max()
    else { throw BenchmarkError("a node failed") }
    return Double(keys * rounds) / (last - first)
  }

  /// What such a process does; prints when it began and ended, seconds since 1970.
  static func run(_ arguments: [String]) async throws {
    guard arguments.count == 5, let node = Int(arguments[1]), let tasks = Int(arguments[2]),
      let run = Int(arguments[3]), let start = Double(arguments[4])
    else { throw BenchmarkError("node PLACE NODE TASKS RUN START") }
    // Requests are on loops, as a server's, and a database's connections are where they are.
    let loops = try EventLoopGroup(loops: EventLoopGroup.processors)
    let database = try open(arguments[0], on: loops)
    let ledger = SQLAdmissionLedger(database)
    _ = try await ledger.remaining(keyID: name(0), charges: charges, now: WallClock.milliseconds)
    try await Task.sleep(for: .seconds(max(0, start - Date().timeIntervalSince1970)))
    let begun = Date().timeIntervalSince1970
    try await withThrowingTaskGroup { group in
      for task in (node * tasks)..<((node + 1) * tasks) {
        group.addTask(executorPreference: loops.next()) {
          for round in 1...rounds {
            let counter = UInt32(run * rounds + round)
            let decision = try await ledger.admit(request(task, counter: counter))
            guard case .admitted = decision else { throw BenchmarkError("\(decision)") }
          }
        }
      }
      try await group.waitForAll()
    }
    print("\(begun) \(Date().timeIntervalSince1970)")
    database.close()
  }

  private static func open(_ place: String, on loops: EventLoopGroup? = nil) throws -> Database {
    try Database(
      place.hasPrefix("postgresql:") ? .postgreSQL(PostgresSettings(url: place)) : .file(place), loops: loops)
  }

  private static func name(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 32) }

  /// A count and money of the key's, money that all share, and a place among its running requests.
  private static var charges: [Charge] {
    let window = Window(id: "bench", start: 0, end: 1 << 60)
    func money(_ subject: Subject) -> Charge {
      Charge(
        subject: subject, rule: "budget", amount: 1, limit: .window(window, limit: 1 << 60, unit: .money))
    }
    return [
      Charge(
        subject: .key, rule: "daily", amount: 1, limit: .window(window, limit: 1 << 40, unit: .requests)),
      Charge(subject: .key, rule: "running", amount: 1, limit: .inFlight(1 << 40)), money(.key),
      money(.everyone),
    ]
  }

  private static func request(_ key: Int, counter: UInt32) -> AdmissionRequest {
    AdmissionRequest(
      id: SecureRandom.bytes(16),
      evidence: .assertion(keyID: name(key), counter: counter, challenge: nil),
      expectation: KeyExpectation(apps: ["production/" + Workload.appID], anchors: [anchor]),
      now: WallClock.milliseconds, charges: charges, lease: 600_000, address: "127.0.0.1")
  }
}
