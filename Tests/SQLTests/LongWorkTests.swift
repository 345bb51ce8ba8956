import BramleyTesting
import SQL
import System
import Testing

private enum LongJob: Sendable {
  /// So many milliseconds of the processor.
  case thinks(Int)
  /// So many statements, which go out with the commit.
  case sends(Int)
}

private final class Worker: SharedBatchDecider {
  func decide(_ jobs: [LongJob], in transaction: Transaction, attempt: Int) async throws -> [Void] {
    try await transaction.forEach("select 1") { _ in }
    for job in jobs {
      switch job {
      case .thinks(let milliseconds):
        for _ in 0..<milliseconds {
          await transaction.breathe()
          let began = MonotonicTime.now
          while MonotonicTime.now - began < .milliseconds(1) {}
        }
      case .sends(let count):
        for number in 0..<count {
          await transaction.breathe()
          try transaction.enqueue("insert into fill values ($1)", [.integer(Int64(number))])
        }
      }
    }
    return jobs.map { _ in }
  }
}

@Suite("Long work on a loop", TestPostgres.required) struct LongWorkTests {
  /// How a loop's work is divided while a lane of its own does the job.
  private func pieces(of job: LongJob, filling count: Int64) async throws -> LoopPieces {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let test = try await TestDatabase(.postgreSQL, loops: loops)
    defer { test.database.close() }
    try await test.database.write { try await $0.script("create table fill (n integer not null) strict") }
    let lane = test.database.lane({ NoDecider() }, among: { Worker() })
    try await lane.submit(.thinks(0))
    let pieces = try await LoopPieces.of(loops.loops[0]) { try await lane.submit(job) }
    let filled = try await test.database.read {
      try await $0.first("select count(*) from fill") { $0.int64(0) }
    }
    #expect(filled == count)
    return pieces
  }

  @Test("a decision that takes a hundred milliseconds lets the loop see to others every now and then")
  func deciding() async throws {
    let pieces = try await pieces(of: .thinks(100), filling: 0)
    #expect(pieces.longest < .milliseconds(20))
  }

  @Test("so do sending thousands of statements, and reading their answers")
  func sending() async throws {
    let pieces = try await pieces(of: .sends(20_000), filling: 20_000)
    #expect(pieces.longest < .milliseconds(20))
  }

  @Test("octets come back as they were sent: every one, none, and a million")
  func octets() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let all = (0...255).map { UInt8($0) }
    let many = (0..<1_000_001).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let blobs: [[UInt8]] = [[], [0], all, all.reversed(), many]
    for sent in blobs {
      let found = try await test.database.read {
        try await $0.first("select $1::bytea, $2::uuid", [.blob(sent), .uuid(Array(all[160..<176]))]) {
          ($0.bytes(0), $0.bytes(1))
        }
      }
      #expect(found?.0 == sent)
      #expect(found?.1 == Array(all[160..<176]))
    }
  }
}
