import Admission
import BramleyTesting
import SQL
import Stores
import System
import Testing

@Suite("Long batches", .serialized, TestPostgres.required) struct NodeLongBatchTests {
  private static let charges = [
    Requests.running(1_000), Requests.burst(every: 1, 1_000), Requests.daily(1_000),
    Requests.money(40, of: 1 << 40), Requests.daily(100_000, .everyone),
    Requests.daily(100_000, .address("192.0.2.7")),
  ]

  @Test("a batch of hundreds of requests is decided in pieces, between which the loop has its turns")
  func pieces() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let loop = loops.loops[0]
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000, loops: loops)
    defer { for node in fixture.nodes { node.database.close() } }
    let count = 400
    try await fixture.register(count + 1)
    func requests(_ round: Int) -> [@Sendable (SQLAdmissionLedger) async throws -> Bool] {
      (1...count).map { key in
        let request = Requests.assertion(
          key, counter: UInt32(round), id: round * 10_000 + key, charges: Self.charges)
        return { try await $0.admit(request).isAdmitted }
      }
    }
    func behind(_ round: Int) -> AdmissionRequest {
      Requests.assertion(0, counter: UInt32(round), id: round * 10_000)
    }
    // What a node sees for the first time takes another way than what it has seen.
    for round in 1...2 {
      let pieces = try await LoopPieces.of(loop) {
        let admitted = try await fixture.inOneBatch(behind: behind(round), requests(round))
        #expect(admitted.count { $0 } == count)
      }
      #expect(pieces.longest < pieces.all / 6)
    }
  }
}
