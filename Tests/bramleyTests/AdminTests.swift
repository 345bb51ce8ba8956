import Admission
import AppAttest
import Encodings
import SQL
import Stores
import Testing

@testable import bramley

@Suite("bramley admin")
struct AdminTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(arguments + ["--data", directory.path])
  }

  private func database() async throws -> Database {
    let database = try Database(.file(directory.path + "/bramley.sqlite"))
    try await Schema.migrate(database, now: 1)
    return database
  }

  @Test("usage by day, for people, spreadsheets and programs")
  func usage() async throws {
    let database = try await database()
    try await database.write { transaction in
      for (time, model, cost) in [
        (1_791_504_000_000, "claude-haiku-4-5", 1_500_000_000), (1_791_504_000_001, "claude-haiku-4-5", 1),
        (1_791_590_399_999, "=cmd()", 0), (1_791_590_400_000, "claude-opus", 2_000_000_000_000),
      ] as [(Int64, String, Int64)] {
        try await transaction.execute(
          """
          insert into usage (route, provider, model, status, input_tokens, cache_read_tokens,
            cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, cost, estimated, started_at, duration)
          values ('r', 'anthropic', $1, 200, 10, 1, 2, 3, 5, $2, 0, $3, 1)
          """, [.text(model), .integer(cost), .integer(time)])
      }
    }
    database.close()
    let text = await bramley("admin", "usage", "--from", "2026-10-09", "--to", "2026-10-10")
    #expect(text.code == .success, "\(text.errors)")
    let lines = text.output.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(Set(lines.map(\.count)).count == 1)
    let csv = await bramley("admin", "usage", "--from", "2026-10-09", "--to", "2026-10-09", "--csv")
    #expect(
      csv.output == """
        day,provider,model,requests,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,images,units,cost_dollars\r
        2026-10-09,anthropic,'=cmd(),1,10,1,5,5,0,0,0.00\r
        2026-10-09,anthropic,claude-haiku-4-5,2,20,2,10,10,0,0,0.001500000001\r

        """)
    let json = await bramley("admin", "usage", "--from", "2026-10-10", "--to", "2026-10-10", "--json")
    #expect(json.output.contains(#""requests":1"#))
    #expect(json.output.contains(#""cost_dollars":"2.00""#))
    let months = await bramley(
      "admin", "usage", "--from", "2026-10-01", "--to", "2026-11-02", "--by", "month,provider", "--csv")
    #expect(months.output.contains("\r\n2026-10,anthropic,4,40,"), "\(months.output)")
    let all = await bramley(
      "admin", "usage", "--from", "2026-10-01", "--to", "2026-11-02", "--by", "function", "--csv")
    #expect(all.output.contains("function,requests"))
    #expect(all.output.contains("\r\n,4,40,"), "\(all.output)")
    for wrong in [
      ["--by", "day,month"], ["--by", "day,day"], ["--by", "weekday"], ["--by", "user,user"], ["--by", ""],
      ["--from", "2026-10-32"], ["--from", "2026-10-11", "--to", "2026-10-10"], ["--csv", "--json"],
    ] {
      #expect(
        await CommandRun(["admin", "usage", "--data", directory.path] + wrong).code == .usage, "\(wrong)")
    }
  }

  @Test("amounts are exact", arguments: [(0, "0.00"), (1, "0.000000000001"), (-1_250_000_000_000, "-1.25")])
  func dollars(_ amount: Int64, _ text: String) {
    #expect(UsageTable.dollars(amount) == text)
    #expect(UsageTable.dollars(.min).hasPrefix("-9223372.03"))
  }

  @Test("keys are listed, banned, let in again, and revoked")
  func keys() async throws {
    let keyID = [UInt8](repeating: 3, count: 32)
    let database = try await database()
    _ = try await SQLDeviceKeyStore(database).register(
      DeviceKey(
        keyID: keyID, publicKey: [4], appID: "ABCDE12345.com.example.app", environment: .production,
        anchor: [1],
        registeredAt: 1_800_000_000, facts: DeviceFacts(osVersion: "26.3")),
      receipt: [], challenge: [1], challengeExpiry: 1_800_000_300)
    database.close()
    let key = Base64.encode(keyID)
    func list(_ status: String) async -> String {
      await bramley("admin", "keys", "list", "--status", status).output
    }
    #expect(
      await list("live")
        == "\(key)\tlive\t2027-01-15T08:00:00Z\tABCDE12345.com.example.app\tproduction\t26.3\t\t\t\n")
    #expect(await bramley("admin", "keys", "ban", key).code == .success)
    #expect(await list("live").isEmpty)
    #expect(await list("banned").hasPrefix("\(key)\tbanned"))
    #expect(await bramley("admin", "keys", "ban", key, "--lift").code == .success)
    #expect(await bramley("admin", "keys", "revoke", key).code == .success)
    #expect(await bramley("admin", "keys", "list").output.hasPrefix("\(key)\trevoked"))
    #expect(await bramley("admin", "keys", "ban", key, "--lift").code == .failure)
    let unknown = Base64.encode([UInt8](repeating: 9, count: 32))
    #expect(await bramley("admin", "keys", "revoke", unknown).code == .failure)
    #expect(await bramley("admin", "keys", "revoke", "short").code == .usage)
    #expect(await bramley("admin", "keys", "list", "--status", "dead").code == .usage)
  }

  @Test("jobs say who runs them, how the last run ended, and when the next is due")
  func jobs() async throws {
    let database = try await database()
    let store = SQLJobStore(database)
    _ = try await store.claim(
      "sweep", node: "n", interval: 60_000, lease: 90_000, abandoned: nil, now: 1_800_000_000_000)
    database.close()
    #expect(
      await bramley("admin", "jobs").output
        == "sweep\twaiting\tended never\tno outcome yet\tno node yet\tnext 2027-01-15T08:01:00Z\n")
    var state = JobState(
      name: "a", node: "host/1/ff", leasedUntil: 5_000, lastStart: 1_000, lastEnd: 500, outcome: "done",
      nextRun: 2_000)
    #expect(ShowJobs.line(state, now: 4_000).contains("running since 1970-01-01T00:00:01Z"))
    #expect(ShowJobs.line(state, now: 5_000).contains("its node died"))
    state.leasedUntil = nil
    #expect(ShowJobs.line(state, now: 5_000).contains("waiting"))
  }

  @Test("a database of an older schema is named with what to do, and is not changed")
  func olderSchema() async throws {
    let older = try Database(.file(directory.path + "/bramley.sqlite"))
    #expect(try await Migrator(Array(Schema.migrations.prefix(1))).migrate(older, now: 1) == [1])
    older.close()
    for words in [["jobs"], ["models", "list"], ["keys", "list"]] {
      let run = await CommandRun(["admin"] + words + ["--data", directory.path])
      #expect(run.code == .failure && run.errors.contains("run bramley migrate first"), "\(run.errors)")
    }
    #expect(await bramley("migrate", "--dry-run").output.contains("would be applied"))
  }

  @Test("RULES §5.2: closed models are listed and acknowledged")
  func models() async throws {
    let database = try await database()
    _ = try await SQLAdmissionLedger(database).settle(
      Settlement(
        id: [1], outcome: .used(cost: 2), now: 3,
        closure: ModelClosure(
          model: ProviderModel(provider: "anthropic", name: "claude-x"), closedAt: 1_800_000_000_000,
          cost: 2_500_000_000_000, reserve: 1)))
    database.close()
    #expect(
      await bramley("admin", "models", "list").output
        == "anthropic/claude-x\tsince 2027-01-15T08:00:00Z\tcost 2.50 $\treserved 0.000000000001 $\n")
    #expect(await bramley("admin", "models", "reopen", "claude-x").code == .usage)
    #expect(await bramley("admin", "models", "reopen", "anthropic/claude-y").code == .failure)
    #expect(await bramley("admin", "models", "reopen", "anthropic/claude-x").code == .success)
    let none = await bramley("admin", "models", "list")
    #expect(none.code == .success && none.output.isEmpty)
  }

  @Test("where there is no database, nothing is made")
  func none() async throws {
    for command in [
      ["usage"], ["jobs"], ["keys", "list"], ["models", "list"], ["models", "reopen", "a/b"],
    ] {
      let run = await CommandRun(["admin"] + command + ["--data", directory.path + "/none"])
      #expect(run.code == .failure)
      #expect(run.errors.contains("there is no database"), "\(run.errors)")
    }
  }
}
