import BramleyClient
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("kill -9 under load", .serialized)
struct KillTests {
  /// How often; BRAMLEY_TEST_KILLS says otherwise.
  static let kills =
    ProcessInfo.processInfo.environment["BRAMLEY_TEST_KILLS"].flatMap { Int($0) } ?? 10

  @Test("RULES §1.5: what was answered is there, nothing is accepted twice, and the file is sound")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let traffic = Traffic(network)
    var server = try await DevelopmentServer(daily: 1_000_000)
    var (sent, answered) = (0, 0)
    for kill in 1...Self.kills {
      let data = server.folder.path("data")
      let phones = try (0..<4).map { _ in try Load.phone(at: server.base, data: data, over: traffic) }
      let program = server.program
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

      // As the process left it, its log included.
      let counts = try await Counts(ofFile: data + "/bramley.sqlite")
      #expect((answered...sent).contains(counts.admitted), "kill \(kill)")
      #expect(counts.admitted == counts.settled + counts.open, "kill \(kill)")

      server = try await DevelopmentServer(daily: 1_000_000, after: server)
      for request in done {
        let replay = try await network.respond(to: request)
        let body = String(decoding: try await replay.body.collect(upTo: 1 << 16), as: UTF8.self)
        #expect(
          replay.status == 401 && body.contains("counter_replayed"), "kill \(kill): \(replay.status) \(body)")
      }
      // What was not answered may or may not have been admitted: once at most, whoever repeats it.
      var late = 0
      for request in open.values {
        let statuses = try await [network.respond(to: request).status, network.respond(to: request).status]
        // 429: what the dead process had begun still counts as running, until its leases end.
        #expect(statuses[1] == 401 && [200, 401, 429].contains(statuses[0]), "kill \(kill): \(statuses)")
        if statuses[0] == 200 { late += 1 }
      }
      answered += late
      let after = try await Counts(ofFile: data + "/bramley.sqlite")
      #expect(after.admitted == counts.admitted + late)
      await traffic.forget()
    }
    print("kill -9: \(Self.kills) times, \(answered) requests answered, \(sent) sent")
    #expect(answered > Self.kills)
    #expect(try await server.stop() == 0)
  }
}
