import Admission
import BramleyTesting
import Foundation
import SQL
import Stores
import Testing

@Suite("Nodes that are processes, on one PostgreSQL", .serialized, TestPostgres.required)
struct NodeProcessTests {
  private static let directory = FileManager.default.temporaryDirectory

  private func process(
    _ fixture: NodeFixture, _ node: Int, tasks: Int, rounds: Int, start: Double, diesAfter: Int = 0
  ) -> NodeProcess {
    NodeProcess(
      url: fixture.server.url, schema: fixture.settings.schema, node: node, tasks: tasks, rounds: rounds,
      notes: Self.directory.appending(path: "bramley-node-\(UUID().uuidString)").path, diesAfter: diesAfter,
      start: start)
  }

  /// The lines that the processes noted; the files are gone after.
  private func lines(_ processes: [NodeProcess]) -> [String] {
    processes.flatMap { process in
      let text = (try? String(contentsOfFile: process.notes, encoding: .utf8)) ?? ""
      try? FileManager.default.removeItem(atPath: process.notes)
      // A kill may cut the last one.
      return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
  }

  private func soon(_ seconds: Double) -> Double { Date().timeIntervalSince1970 + seconds }

  @Test(
    "RULES §5.5: 64 tasks in 4 processes, two of which are killed: no counter passes twice, no ceiling is passed, sums agree, no deadlock"
  )
  func race() async throws {
    let fixture = try await NodeFixture(nodes: 1)
    try await fixture.register(8)
    let start = soon(1.5)
    let nodes = (0..<4).map {
      process(fixture, $0, tasks: 16, rounds: 12, start: start, diesAfter: $0 >= 2 ? 5 + $0 * 4 : 0)
    }
    await withTaskGroup { group in
      for node in nodes {
        group.addTask {
          if node.diesAfter == 0 {
            await #expect(processExitsWith: .success) { [node = node as NodeProcess] in
              try await node.run { try await node.race($0, $1, $2) }
            }
          } else {
            await #expect(processExitsWith: .signal(SIGKILL)) { [node = node as NodeProcess] in
              try await node.run { try await node.race($0, $1, $2) }
            }
          }
        }
      }
    }
    // They come again, and send all of it once more.
    let again = (2..<4).map { process(fixture, $0, tasks: 16, rounds: 12, start: 0) }
    await withTaskGroup { group in
      for node in again {
        group.addTask {
          await #expect(processExitsWith: .success) { [node = node as NodeProcess] in
            try await node.run { try await node.race($0, $1, $2) }
          }
        }
      }
    }
    try await agree(fixture, lines(nodes + again))
  }

  private func agree(_ fixture: NodeFixture, _ lines: [String]) async throws {
    let places = lines.filter { $0.hasPrefix("admitted ") }
    #expect(Set(places).count == places.count)
    #expect(places.count > 60)
    #expect(!lines.contains { $0.hasPrefix("lost ") })
    let open = try await fixture.number("select count(*) from reservations")
    let settled = try await fixture.number("select count(*) from usage")
    let admitted = open + settled
    // What a killed process had not noted is there all the same, at most one of each of its tasks.
    #expect(admitted >= Int64(places.count) && admitted <= Int64(places.count) + 32)
    #expect(try await fixture.sums("budget") == (settled * 25, open * 40))
    #expect(settled * 25 + open * 40 <= 6_000)
    #expect(try await fixture.sums("running") == (0, open))
    #expect(try await fixture.sums("daily") == (admitted * 3, 0))
    let everyone = """
      from lines l join rules r on r.id = l.rule join periods p on p.id = l.period
      where r.name = 'daily' and l.subject in (select -id from subjects where kind = 4)
      """
    #expect(try await fixture.number("select count(*) \(everyone)") == 2)
    #expect(try await fixture.number("select max(used) \(everyone)") <= 100)
    #expect(try await fixture.number("select sum(used)::bigint \(everyone)") == admitted)
    try await Task.sleep(for: .milliseconds(1_200))
    #expect(
      try await fixture.number(
        "select deadlocks from pg_stat_database where datname = current_database()") == 0)
  }

  /// Admissions a second of 64 tasks in so many processes.
  private func rate(_ fixture: NodeFixture, processes: Int, rounds: Int) async throws -> Double {
    let start = soon(1.5)
    let nodes = (0..<processes).map {
      process(fixture, $0, tasks: 64 / processes, rounds: rounds, start: start)
    }
    await withTaskGroup { group in
      for node in nodes {
        group.addTask {
          await #expect(processExitsWith: .success) { [node = node as NodeProcess] in
            try await node.run { try await node.measure($0, $1, $2) }
          }
        }
      }
    }
    let lines = lines(nodes)
    #expect(!lines.contains { $0.hasPrefix("refused ") })
    let times = lines.filter { $0.hasPrefix("time ") }.map {
      $0.split(separator: " ").compactMap { Double($0) }
    }
    let first = try #require(times.compactMap(\.first).min())
    let last = try #require(times.compactMap(\.last).max())
    return Double(64 * rounds) / (last - first)
  }

  @Test("Throughput of four processes against one, one budget row shared by all")
  func throughput() async throws {
    let fixture = try await NodeFixture(nodes: 1)
    try await fixture.register(64)
    let one = try await rate(fixture, processes: 1, rounds: 20)
    let four = try await rate(fixture, processes: 4, rounds: 20)
    print(
      "admission on PostgreSQL: one process \(Int(one))/s, four processes \(Int(four))/s: "
        + "ratio \((four / one * 100).rounded() / 100)")
    #expect(four > one / 10)
    #expect(try await fixture.sums("budget") == (0, 2 * 64 * 20))
  }
}
