import Foundation

extension Benchmarks {
  /// Admissions a second of four processes on one PostgreSQL against one process, and of that against SQLite.
  static func nodes() async throws {
    guard let server = try PostgresServer() else {
      return print("== nodes on PostgreSQL: skipped, PostgreSQL is not installed")
    }
    print("== admissions a second, 64 tasks with a key each, one budget row shared by all, durable")
    let file = FileManager.default.temporaryDirectory.appending(path: "bramley-nodes-\(UUID().uuidString).db")
    defer {
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) }
    }
    for place in [file.path, server.url] { try await AdmissionNode.prepare(place) }
    let sqlite = try AdmissionNode.rate(file.path, processes: 1, run: 1)
    let one = try AdmissionNode.rate(server.url, processes: 1, run: 1)
    let four = try AdmissionNode.rate(server.url, processes: 4, run: 2)
    print("SQLite, one process: \(format(sqlite, 0))/s")
    print("PostgreSQL, one process: \(format(one, 0))/s, ratio to SQLite \(format(one / sqlite))")
    print("PostgreSQL, four processes: \(format(four, 0))/s, ratio to one \(format(four / one))")
    withExtendedLifetime(server) {}
  }
}

/// The server of scripts/test-postgres with durable commits; it ends with this process.
private final class PostgresServer {
  let url: String
  private let input = Pipe()

  /// nil where PostgreSQL is not installed.
  init?() throws {
    // #filePath is <package root>/Benchmarks/Sources/NodesBenchmark.swift
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let process = Process()
    let output = Pipe()
    process.executableURL = root.appending(path: "scripts/test-postgres")
    process.environment = ProcessInfo.processInfo.environment.merging(["FSYNC": "on"]) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { return nil }
      text += String(decoding: data, as: UTF8.self)
    }
    guard text.hasPrefix("postgresql:") else { return nil }
    url = String(text.prefix { $0 != "\n" })
  }
}
