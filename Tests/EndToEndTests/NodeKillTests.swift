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
    var killing = Killing(network)
    let postgres = try #require(TestPostgres())
    let nodes = try await Nodes(database: postgres.url)
    let authorities = nodes.bases.map { String($0.dropFirst("http://".count)) }
    let database = try Database(.postgreSQL(PostgresSettings(url: postgres.url)))
    defer { database.close() }
    for kill in 1...Killing.times {
      let victim = kill % 2
      let phones = try (0..<4).map { number in
        try Load.phone(at: nodes.bases[number % 2], data: nodes.folder.url.path, over: killing.traffic)
      }
      let (done, open) = try await killing.kill(nodes.programs[victim], under: phones)
      let counts = try await Counts(database)
      killing.check(counts)
      // The dead node's requests as well: they are signed for an audience that is also the living one's.
      try await killing.replay(done, to: authorities[1 - victim])
      try await nodes.restart(victim)
      // At both nodes at once, and accepted by one at most.
      var late = 0
      for request in open {
        let requests = authorities.map { authority in
          var request = request
          request.authority = authority
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
      killing.add(late: late)
      #expect(try await Counts(database).admitted == counts.admitted + late)
    }
    killing.end("kill -9 of a node")
    try await nodes.stop()
    withExtendedLifetime(postgres) {}
  }
}
