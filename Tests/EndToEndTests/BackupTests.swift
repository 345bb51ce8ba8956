import BramleyClient
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("Backup and restore beside a server")
struct BackupTests {
  @Test("RULES §1.5: a backup under load holds whole requests; restored, nothing signed before passes again")
  func life() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let traffic = Traffic(network)
    var server = try await DevelopmentServer(daily: 10_000)
    let folder = server.folder
    let data = ["--data", folder.path("data")]
    let phones = try (0..<3).map { _ in
      try Load.phone(at: server.base, data: folder.path("data"), over: traffic)
    }
    #expect(try await phones[0].respond(to: Load.question()).status == 200)
    let copies = ["one", "two", "three"].map { folder.path($0) }
    try await withThrowingTaskGroup { group in
      group.addTask { await Load.run(phones, each: 20) }
      for copy in copies {
        let run = try await Program.run(["backup", copy] + data, in: folder)
        #expect(run.code == 0, "\(run.errors)")
      }
      try await group.waitForAll()
    }
    for copy in copies {
      let database = try Database(.readOnlyFile(copy))
      let row = try await database.read { transaction in
        try await transaction.first(
          """
          select (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'daily'),
            (select count(*) from usage) + (select count(*) from reservations)
          """
        ) { [$0.int(0), $0.int(1)] }
      }
      database.close()
      let counts = try #require(row)
      #expect(counts[0] == counts[1] && counts[0] > 0)
    }

    let refused = try await Program.run(["restore", copies[0], "--force"] + data, in: folder)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("stop it first"), "\(refused.errors)")
    #expect(try await server.stop() == 0)
    let restored = try await Program.run(["restore", copies[0], "--force"] + data, in: folder)
    #expect(restored.code == 0, "\(restored.errors)")

    server = try await DevelopmentServer(daily: 10_000, after: server)
    let before = await traffic.answered
    #expect(before.count > 50)
    for request in before { #expect(try await network.respond(to: request).status == 401) }
    // The phone goes on by itself: it fetches a challenge of the new secret.
    #expect(try await phones[0].respond(to: Load.question()).status == 200)
    #expect(try await server.stop() == 0)
  }
}
