import BramleyClient
import BramleyTesting
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

/// What befalls a PostgreSQL server, and how it ends.
struct DatabaseTrouble: Sendable, CustomTestStringConvertible {
  var name: String
  var begin: [String]
  var end: [String]
  /// Whether `/ready` tells of it.
  var isTold = true
  var testDescription: String { name }

  static let all = [
    DatabaseTrouble(name: "stopped", begin: ["stop"], end: ["start"]),
    DatabaseTrouble(
      name: "read-only",
      begin: ["sql alter system set default_transaction_read_only = on", "sql select pg_reload_conf()"],
      end: ["sql alter system reset default_transaction_read_only", "sql select pg_reload_conf()"]),
    DatabaseTrouble(
      name: "out of connections",
      begin: [
        "sql alter role app connection limit 0",
        "sql select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'",
      ],
      end: ["sql alter role app connection limit -1"]),
    DatabaseTrouble(name: "frozen", begin: ["freeze"], end: ["thaw"]),
    // Slow: somebody holds the rows of all counters.
    DatabaseTrouble(
      name: "locked",
      begin: [
        "background begin; lock table auth.lines in access exclusive mode; select pg_sleep(60); commit"
      ],
      end: [
        "sql select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()"
      ],
      isTold: false),
  ]
}

@Suite("Trouble with PostgreSQL while requests run", .serialized, TestPostgres.required)
struct DatabaseTroubleTests {
  @Test(
    "RULES §5.5: refused with 503 and Retry-After, nothing lost or doubled, and it goes on by itself",
    arguments: DatabaseTrouble.all)
  func trouble(_ trouble: DatabaseTrouble) async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let traffic = Traffic(network)
    let postgres = try #require(TestPostgres())
    postgres.tell("sql create role app login")
    postgres.tell("sql grant create on database postgres to app")
    let url = postgres.url.replacingOccurrences(of: "user=bramley", with: "user=app")
    let nodes = try await Nodes(database: url, statementTimeout: 1)
    let phones = try (0..<4).map {
      try Load.phone(at: nodes.bases[$0 % 2], data: nodes.folder.url.path, over: traffic)
    }
    for phone in phones { #expect(try await phone.respond(to: Load.question()).status == 200) }
    let isOver = Locked(false)
    let failures = Locked<[String]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for phone in phones {
        group.addTask {
          while !isOver.withLock({ $0 }) {
            do {
              let response = try await phone.respond(to: Load.question())
              _ = try await response.body.collect(upTo: 1 << 20)
              if response.status != 200 { try await Task.sleep(for: .milliseconds(20)) }
            } catch {
              failures.withLock { $0.append("\(error)") }
              try await Task.sleep(for: .milliseconds(20))
            }
          }
        }
      }
      defer { isOver.withLock { $0 = true } }
      try await until("some answers") { await traffic.answered.count > 20 }
      for word in trouble.begin { postgres.tell(word) }
      try await until("refusals") { await traffic.refused.count >= 8 }
      for base in nodes.bases {
        #expect(try await status("\(base)/health") == 200)
        if trouble.isTold { #expect(try await status("\(base)/ready") == 503) }
      }
      for word in trouble.end { postgres.tell(word) }
      let before = await traffic.answered.count
      try await until("answers again") { await traffic.answered.count >= before + 40 }
      for base in nodes.bases { #expect(try await status("\(base)/ready") == 200) }
      isOver.withLock { $0 = true }
      try await group.waitForAll()
    }
    #expect(await traffic.refused.allSatisfy { $0 == 503 })
    #expect(await traffic.unclear == [])
    // The SDK tells of a 503 by an answer, not by an error.
    #expect(failures.withLock { $0 } == [])
    try await agree(nodes, traffic, network, url)
    try await nodes.stop()
    withExtendedLifetime(postgres) {}
  }

  /// The sums of the database agree with each other and with what was answered.
  private func agree(_ nodes: Nodes, _ traffic: Traffic, _ network: HTTPClient, _ url: String) async throws {
    let database = try Database(.postgreSQL(PostgresSettings(url: url)))
    defer { database.close() }
    // What could not be settled meanwhile is caught up with.
    try await until("settlements") { (try? await Counts(database).open) == 0 }
    let counts = try await Counts(database)
    let done = await traffic.answered
    let refused = await traffic.refused
    #expect(counts.admitted >= done.count && counts.admitted <= done.count + refused.count)
    let sums = try await database.read { transaction in
      try await transaction.first(
        """
        select coalesce(sum(held), 0), (select coalesce(sum(cost), 0) from usage),
          (select coalesce(sum(used), 0) from lines m join rules s on s.id = m.rule where s.name = 'total-budget')
        from lines
        """
      ) { [$0.int64(0), $0.int64(1), $0.int64(2)] }
    }
    #expect(sums?[0] == 0, "nothing is held")
    #expect(sums?[1] == sums?[2] && sums?[1] != 0, "what was booked is what usage says")
    #expect(counts.settled >= done.count && counts.settled <= counts.admitted)
    for request in done.shuffled().prefix(30) {
      let replay = try await network.respond(to: request)
      let body = String(decoding: try await replay.body.collect(upTo: 1 << 16), as: UTF8.self)
      #expect(replay.status == 401 && body.contains("counter_replayed"), "\(replay.status) \(body)")
    }
    #expect(try await Counts(database) == counts)
  }

  @Test("an operator's command on a server that is stopped says so in one line, and ends with 1")
  func commands() async throws {
    let folder = try Folder()
    let config = try folder.write(
      #"{ "database": { "url": "postgresql://nobody@127.0.0.1:1/bramley" } }"#, "bramley.jsonc")
    let commands = [
      ["admin", "jobs"], ["admin", "usage"], ["admin", "keys", "list"], ["admin", "models", "list"],
      ["admin", "keys", "ban", String(repeating: "A", count: 43) + "="], ["keys", "debug", "list"],
      ["migrate"],
      ["migrate", "--dry-run"], ["serve"],
    ]
    for command in commands {
      let run = try await Program.run(command + ["--config", config], in: folder)
      #expect(run.code == 1, "\(command): \(run.errors)")
      let lines = run.errors.split(separator: "\n")
      #expect(lines.count == 1, "\(command): \(run.errors)")
      #expect(
        run.errors.contains("postgresql://127.0.0.1/bramley")
          && run.errors.contains("the database does not answer"), "\(command): \(run.errors)")
      #expect(run.output == "")
    }
  }

  private func until(
    _ what: String, within seconds: Double = 40, _ condition: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
      try #require(ContinuousClock.now < deadline, "waited in vain for \(what)")
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
