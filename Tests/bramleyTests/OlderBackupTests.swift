import BramleyTesting
import Foundation
import SQL
import Stores
import System
import Testing

@testable import bramley

@Suite("Backups of older versions")
struct OlderBackupTests {
  @Test(
    "RULES §1.5: a backup of any version is restored without its credentials, and migrated by the next start",
    arguments: Schema.migrations.map(\.version))
  func restore(version: Int) async throws {
    let directory = try TemporaryDirectory()
    let data = ["--data", directory.path + "/data"]
    let copy = directory.path + "/copy"
    let database = try Database(.plainFile(copy))
    _ = try await Migrator(Array(Schema.migrations.prefix(version))).migrate(database, now: 1)
    try await database.write { try await $0.script("insert into challenge_secrets (secret) values (x'01')") }
    database.close()
    let restored = await CommandRun(["restore", copy] + data)
    #expect(restored.code == .success, "\(restored.errors)")
    #expect(restored.output.contains("schema \(version),"))
    #expect(await CommandRun(["migrate"] + data).code == .success)
    let opened = try Database(.readOnlyFile(directory.path + "/data/bramley.sqlite"))
    defer { opened.close() }
    #expect(try await Migrator(Schema.migrations).pending(opened).isEmpty)
    #expect(
      try await opened.read { try await $0.first("select count(*) from challenge_secrets") { $0.int64(0) } }
        == 0)
  }
}
