import BramleyClient
import HTTPMessages
import System
import Testing
import Transport

@Suite("kill -9 under load", .serialized)
struct KillTests {
  @Test("RULES §1.5: what was answered is there, nothing is accepted twice, and the file is sound")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    var killing = Killing(network)
    var server = try await DevelopmentServer(daily: 1_000_000)
    for kill in 1...Killing.times {
      let data = server.folder.path("data")
      let phones = try (0..<4).map { _ in
        try Load.phone(at: server.base, data: data, over: killing.traffic)
      }
      let (done, open) = try await killing.kill(server.program, under: phones)
      // As the process left it, its log included.
      let counts = try await Counts(ofFile: data + "/bramley.sqlite")
      killing.check(counts)

      server = try await DevelopmentServer(daily: 1_000_000, after: server)
      try await killing.replay(done)
      // Once at most, whoever repeats it.
      var late = 0
      for request in open {
        let statuses = try await [network.respond(to: request).status, network.respond(to: request).status]
        // 429: what the dead process had begun still counts as running, until its leases end.
        #expect(statuses[1] == 401 && [200, 401, 429].contains(statuses[0]), "kill \(kill): \(statuses)")
        if statuses[0] == 200 { late += 1 }
      }
      killing.add(late: late)
      #expect(try await Counts(ofFile: data + "/bramley.sqlite").admitted == counts.admitted + late)
    }
    killing.end("kill -9")
    #expect(try await server.stop() == 0)
  }
}
