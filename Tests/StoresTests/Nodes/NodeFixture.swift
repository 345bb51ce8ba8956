import Admission
import AppAttest
import BramleyTesting
import Foundation
import Gateway
import SQL
import Stores
import System
import Testing

/// Several nodes on one PostgreSQL server of their own. Each has its own connections and remembers its own rows, as
/// a process of its own would.
final class NodeFixture: Sendable {
  struct Node: Sendable {
    let database: Database
    let keys: SQLDeviceKeyStore
    let ledger: SQLAdmissionLedger
    let jobs: SQLJobStore
  }

  let server: TestPostgres
  let settings: PostgresSettings
  let nodes: [Node]

  /// - Parameter loops: PostgreSQL's, of all nodes; nil for some of each one's own.
  init(
    nodes count: Int, statementTimeout: Int32 = 10_000, clock: LeaseClock = .caller,
    loops: EventLoopGroup? = nil
  ) async throws {
    server = try #require(TestPostgres())
    var settings = StoreFixture.postgres(server.url)
    settings.statementTimeout = statementTimeout
    self.settings = settings
    nodes = try (0..<count).map { _ in
      let database = try Database(.postgreSQL(settings), loops: loops)
      return Node(
        database: database, keys: SQLDeviceKeyStore(database),
        ledger: SQLAdmissionLedger(database, clock: clock), jobs: SQLJobStore(database, clock: clock))
    }
    // All at once, as nodes of a deployment start.
    let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
      for node in nodes {
        group.addTask { try await Schema.migrate(node.database, now: StoreFixture.epoch) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(applied.count { !$0.isEmpty } == 1)
  }

  deinit { for node in nodes { node.database.close() } }

  func register(_ count: Int) async throws {
    for number in 0..<count {
      let outcome = try await nodes[number % nodes.count].keys.register(
        StoreFixture.key(number), receipt: [1], challenge: StoreFixture.octets(number + 1_000_000, 16),
        challengeExpiry: StoreFixture.epoch + 300)
      #expect(outcome == .created)
    }
  }

  /// One number of the database.
  func number(_ sql: String) async throws -> Int64 {
    try await nodes[0].database.read { try await $0.first(sql) { $0.int64(0) } ?? -1 }
  }

  /// Used and held, summed over a rule.
  func sums(_ rule: String) async throws -> (used: Int64, held: Int64) {
    let from = "from lines l join rules r on r.id = l.rule where r.name = '\(rule)'"
    return (
      try await number("select coalesce(sum(used), 0) \(from)"),
      try await number("select coalesce(sum(held), 0) \(from)")
    )
  }
}
