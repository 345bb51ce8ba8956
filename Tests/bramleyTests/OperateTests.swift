import Admission
import BramleyTesting
import Foundation
import SQL
import Stores
import System
import Testing

@testable import bramley

@Suite("Migrating, saving and restoring the database")
struct OperateTests {
  private let directory: TemporaryDirectory
  private var data: String { directory.path + "/data" }
  private var file: String { data + "/bramley.sqlite" }

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(arguments + ["--data", data])
  }

  private func query(_ sql: String, in file: String? = nil) async throws -> Int64? {
    let database = try Database(.readOnlyFile(file ?? self.file))
    let value = try await database.read { try await $0.first(sql) { $0.int64(0) } }
    database.close()
    try await free(file ?? self.file)
    return value
  }

  private func change(_ sql: String) async throws {
    let database = try Database(.file(file))
    try await database.write { try await $0.script(sql) }
    database.close()
    try await free(file)
  }

  /// Waits until the threads of a database that was closed have let go of the file.
  private func free(_ file: String) async throws {
    for _ in 0..<500 {
      do { return try OnlineCopy.foldLog(file) } catch { try await Task.sleep(for: .milliseconds(10)) }
    }
    Issue.record("\(file) stays in use")
  }

  private func fill() async throws {
    #expect(await bramley("migrate").code == .success)
    try await change(
      """
      insert into challenge_secrets (secret) values (x'01'), (x'02');
      insert into debug_tokens (name, hash, expiry, created_at) values ('a', x'01', 1, 1), ('b', x'02', 1, 1);
      """)
  }

  @Test("migrate says first, does then, and has nothing to do afterwards")
  func migrate() async throws {
    let dry = await bramley("migrate", "--dry-run")
    #expect(dry.code == .success)
    #expect(dry.output.contains("1\tkeys and ledger\twould be applied"))
    #expect(!Files.exists(data))
    let run = await bramley("migrate")
    #expect(run.code == .success)
    #expect(run.output.contains("1\tkeys and ledger\tapplied"))
    #expect(run.output.contains("2\tshared jobs\tapplied"))
    for arguments in [["migrate"], ["migrate", "--dry-run"]] {
      let again = await CommandRun(arguments + ["--data", data])
      #expect(again.output == "nothing to do: the schema is \(Schema.migrations.count)\n")
    }
  }

  @Test("a database of an older version gets what is missing")
  func older() async throws {
    try Files.createDirectory(data)
    let database = try Database(.file(file))
    _ = try await Migrator(Array(Schema.migrations.prefix(1))).migrate(database, now: 1)
    database.close()
    let dry = await bramley("migrate", "--dry-run")
    #expect(dry.output.contains("2\tshared jobs\twould be applied"))
    #expect(!dry.output.contains("keys and ledger"))
    #expect(await bramley("migrate", "--dry-run").output == dry.output)
    #expect(await bramley("migrate").output.hasPrefix("2\tshared jobs\tapplied"))
  }

  @Test("a database of a newer Bramley is refused by every command with what to do, and left as it is")
  func newer() async throws {
    try await fill()
    #expect(await bramley("backup", directory.path + "/good").code == .success)
    try await change("insert into schema_versions (version, name, applied_at) values (99, 'later', 1)")
    for command in [
      ["migrate"], ["migrate", "--dry-run"], ["backup", directory.path + "/new"], ["keys", "debug", "list"],
    ] {
      let run = await CommandRun(command + ["--data", data])
      #expect(run.code == .failure, "\(command)")
      #expect(run.errors.contains("run that version or a later one"), "\(run.errors)")
    }
    #expect(!Files.exists(directory.path + "/new"))
    #expect(try await query("select max(version) from schema_versions") == 99)
  }

  @Test("a backup is one file of mode 0600 that holds what the database does, and restores it")
  func roundTrip() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    let run = await bramley("backup", copy)
    #expect(run.code == .success, "\(run.errors)")
    #expect(run.output.contains("schema \(Schema.migrations.count),"))
    let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["copy", "data"])
    #expect(try await query("select count(*) from debug_tokens", in: copy) == 2)
    let twice = await bramley("backup", copy)
    #expect(twice.code == .failure)
    #expect(twice.errors.contains("--force"))
    try await change("delete from debug_tokens where name = 'a'")
    #expect(await bramley("restore", copy).errors.contains("--force replaces it"))
    #expect(try await query("select count(*) from debug_tokens") == 1)
    let back = await bramley("restore", copy, "--force")
    #expect(back.code == .success, "\(back.errors)")
    #expect(try await query("select count(*) from debug_tokens") == 2)
    #expect(await bramley("backup", copy, "--force").code == .success)
    let restored = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(restored == 0o600)
  }

  @Test("RULES §1.5: what is restored knows no challenge and no session token of before")
  func credentials() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    #expect(await bramley("backup", copy).code == .success)
    #expect(try await query("select count(*) from challenge_secrets", in: copy) == 2)
    #expect(await bramley("restore", copy, "--force").code == .success)
    #expect(try await query("select count(*) from challenge_secrets") == 0)
    #expect(try await query("select count(*) from session_tokens") == 0)
  }

  @Test("restore replaces a log that was left behind with its database")
  func staleLog() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    #expect(await bramley("backup", copy).code == .success)
    // What a killed server leaves: a file, and a log with commits that are not in it.
    let database = try Database(.file(file), tuning: DatabaseTuning(checkpointPages: 0))
    try await database.write { try await $0.script("delete from debug_tokens") }
    let leftFile = try Files.read(file, upTo: 1 << 24)
    let leftLog = try Files.read(file + "-wal", upTo: 1 << 24)
    database.close()
    try await free(file)
    try Files.write(leftFile, to: file)
    try Files.write(leftLog, to: file + "-wal")
    #expect(await bramley("restore", copy, "--force").code == .success)
    #expect(!Files.exists(file + "-wal"))
    #expect(try await query("select count(*) from debug_tokens") == 2)
  }

  @Test("restore refuses while somebody uses the data, also a program that is none of ours")
  func inUse() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    #expect(await bramley("backup", copy).code == .success)
    do {
      let claim = try StoredState.claim(DataDirectory(path: data))
      let run = await bramley("restore", copy, "--force")
      #expect(run.code == .failure)
      #expect(run.errors.contains("stop it first"), "\(run.errors)")
      // Others go on beside a server.
      #expect(await bramley("backup", copy, "--force").code == .success)
      withExtendedLifetime(claim) {}
    }
    let other = try Database(.file(file))
    _ = try await other.read { try await $0.first("select count(*) from debug_tokens") { $0.int64(0) } }
    let run = await bramley("restore", copy, "--force")
    #expect(run.errors.contains("another program has"), "\(run.errors)")
    other.close()
    #expect(try await query("select count(*) from challenge_secrets") == 2)
  }

  @Test("a damaged, cut, foreign or missing file is refused before anything is changed")
  func damaged() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    #expect(await bramley("backup", copy).code == .success)
    let bytes = try Files.read(copy, upTo: 1 << 24)
    var torn = bytes
    for index in 4_096..<min(12_288, torn.count) { torn[index] = 0xa5 }
    let foreign = directory.path + "/foreign"
    let empty = try Database(.file(foreign))
    try await empty.write { try await $0.script("create table other (n integer)") }
    empty.close()
    let files = [
      try directory.write(torn, "torn"), try directory.write(Array(bytes.prefix(bytes.count / 2)), "cut"),
      try directory.write([UInt8](repeating: 7, count: 9_000), "noise"), foreign, directory.path + "/none",
    ]
    for file in files {
      let run = await bramley("restore", file, "--force")
      #expect(run.code == .failure, "\(file)")
      #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    }
    #expect(try await query("select count(*) from challenge_secrets") == 2)
    #expect(!Files.exists(self.file + ".restoring"))
  }

  @Test("a damaged database is replaced, and cannot be saved")
  func repair() async throws {
    try await fill()
    let copy = directory.path + "/copy"
    #expect(await bramley("backup", copy).code == .success)
    try await free(file)
    try Files.write([UInt8](repeating: 7, count: 9_000), to: file)
    let run = await bramley("backup", directory.path + "/bad")
    #expect(run.code == .failure)
    #expect(!Files.exists(directory.path + "/bad"))
    #expect(await bramley("restore", copy, "--force").code == .success)
    #expect(try await query("select count(*) from debug_tokens") == 2)
  }

  @Test("a backup while another connection writes without a pause is of one moment")
  func online() async throws {
    try await fill()
    try await change("create table pairs (a integer, b integer)")
    let writer = try Database(.file(file))
    defer { writer.close() }
    let copies = (0..<6).map { directory.path + "/copy\($0)" }
    let data = data
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        var number: Int64 = 0
        while !Task.isCancelled {
          number += 1
          let row = number
          try await writer.write { transaction in
            try await transaction.execute("insert into pairs values ($1, 0)", [.integer(row)])
            try await transaction.execute("update pairs set b = $1 where a = $1", [.integer(row)])
          }
        }
        return true
      }
      group.addTask {
        for copy in copies { #expect(await CommandRun("backup", copy, "--data", data).code == .success) }
        return false
      }
      while try await group.next() == true {}
      group.cancelAll()
    }
    var last: Int64 = 0
    for copy in copies {
      #expect(try await query("select count(*) from pairs where a <> b", in: copy) == 0)
      let count = try #require(try await query("select count(*) from pairs", in: copy))
      #expect(count >= last)
      #expect(try await query("select max(a) from pairs", in: copy) ?? 0 == count)
      last = count
    }
    #expect(last > 0)
  }

  @Test(
    "copy moves everything; the old database serves no more, unless the copy is abandoned",
    TestPostgres.required)
  func copy() async throws {
    try await fill()
    let url = TestPostgres.shared ?? ""
    let schema = "cli_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    let config = try directory.write(Array(#"{ "database": { "url": "\#(url)" } }"#.utf8), "bramley.jsonc")
    let arguments = ["copy", "--from", data, "--config", config, "--schema", schema]
    do {
      let claim = try StoredState.claim(DataDirectory(path: data))
      #expect(await CommandRun(arguments).errors.contains("stop it first"))
      withExtendedLifetime(claim) {}
    }
    let run = await CommandRun(arguments)
    #expect(run.code == .success, "\(run.errors)")
    #expect(run.output.contains("debug_tokens\t2\tthe same in both\n"))
    let old = await bramley("keys", "debug", "list")
    #expect(old.code == .configuration)
    #expect(old.errors.contains("was copied to postgresql:"), "\(old.errors)")
    #expect(await CommandRun(arguments).errors.contains("copied there before"))
    #expect(await CommandRun("copy", "--abandon", "--from", data).code == .success)
    #expect(await bramley("keys", "debug", "list").code == .success)
    #expect(await CommandRun("copy", "--abandon", "--from", data).code == .failure)
  }

  @Test("copy shows no URL that it cannot read: there may be a password in it")
  func copyURL() async throws {
    for url in ["postgresql://u:secret@[::1/x", "mysql://u:secret@h/x", "host=h password=secret"] {
      let run = await CommandRun("copy", "--from", data, "--to", url)
      #expect(run.code == .usage)
      #expect(!run.errors.contains("secret"), "\(run.errors)")
    }
    try Files.createDirectory(data)
    try Files.write([], to: file)
    #expect(await CommandRun("copy", "--from", data).errors.contains("where to?"))
    #expect(
      await CommandRun("copy", "--from", data, "--to", "postgresql://h/x", "--schema", "a\"b").code == .usage)
    let refused = await CommandRun("copy", "--from", data, "--to", "postgresql://u:secret@127.0.0.1:1/x")
    #expect(refused.code == .failure)
    #expect(!refused.errors.contains("secret"), "\(refused.errors)")
  }
}
