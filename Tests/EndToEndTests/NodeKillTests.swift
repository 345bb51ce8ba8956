import BramleyClient
import BramleyTesting
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("kill -9 of one of two nodes", TestPostgres.required)
struct NodeKillTests {
  @Test("RULES §1.5: what one node answered the other knows, and nothing is accepted twice")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let traffic = Traffic(network)
    let postgres = try #require(TestPostgres())
    let nodes = try await Nodes(database: postgres.url)
    let database = try Database(.postgreSQL(PostgresSettings(url: postgres.url)))
    defer { database.close() }
    var (sent, answered) = (0, 0)
    for kill in 1...KillTests.kills {
      let victim = kill % 2
      let phones = try (0..<4).map { number in
        try Load.phone(at: nodes.bases[number % 2], data: nodes.folder.url.path, over: traffic)
      }
      let program = nodes.programs[victim]
      await withTaskGroup { group in
        group.addTask { await Load.run(phones) }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 60...700)))
        program.kill(SIGKILL)
        await group.waitForAll()
      }
      #expect(try await program.exitCode() == SIGKILL)
      let open = await traffic.unanswered
      let done = await traffic.answered
      // 429: a phone may ask before its last request is settled. Nothing else is refused.
      #expect(await traffic.refused.filter { $0 != 429 } == [])
      sent += open.count + done.count
      answered += done.count
      let counts = try await Counts(database)
      #expect((answered...sent).contains(counts.admitted), "kill \(kill)")
      #expect(counts.admitted == counts.settled + counts.open, "kill \(kill)")

      let living = nodes.bases[1 - victim].dropFirst("http://".count)
      for request in done {
        // The dead node's requests as well: they are signed for an audience that is also the living one's.
        var replay = request
        replay.authority = String(living)
        let response = try await network.respond(to: replay)
        let body = String(decoding: try await response.body.collect(upTo: 1 << 16), as: UTF8.self)
        #expect(
          response.status == 401 && body.contains("counter_replayed"),
          "kill \(kill): \(response.status) \(body)")
      }
      try await nodes.restart(victim)
      // What was not answered: at both nodes at once, and accepted by one at most.
      var late = 0
      for request in open.values {
        let requests = nodes.bases.map { base in
          var request = request
          request.authority = String(base.dropFirst("http://".count))
          return request
        }
        async let first = network.respond(to: requests[0]).status
        async let second = network.respond(to: requests[1]).status
        let statuses = try await [first, second].sorted()
        #expect(
          statuses[1] >= 401 && [200, 401, 429].contains(statuses[0]) && statuses != [429, 429],
          "kill \(kill): \(statuses)")
        if statuses[0] == 200 { late += 1 }
      }
      answered += late
      #expect(try await Counts(database).admitted == counts.admitted + late)
      await traffic.forget()
    }
    print("kill -9 of a node: \(KillTests.kills) times, \(answered) requests answered, \(sent) sent")
    #expect(answered > KillTests.kills)
    try await nodes.stop()
    withExtendedLifetime(postgres) {}
  }
}
