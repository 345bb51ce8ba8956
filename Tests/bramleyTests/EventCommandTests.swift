import Accounts
import Encodings
import SQL
import Stores
import Testing

@testable import bramley

@Suite("bramley admin events")
struct EventCommandTests {
  private static let url = "https://app.example/hooks"
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(["admin", "events"] + arguments + ["--data", directory.path])
  }

  /// Three events: the first delivered, the second dead, the third waiting.
  private func prepare() async throws -> [EventRecord] {
    let database = try Database(.file(directory.path + "/bramley.sqlite"))
    defer { database.close() }
    try await Schema.migrate(database, now: 1)
    let outbox = SQLEventOutbox(database)
    try await outbox.subscribe([EventSubscription(url: Self.url, kinds: [.userCreated])])
    for number in 1...3 as ClosedRange<UInt8> {
      let id = try #require(UUID(octets: [UInt8](repeating: number, count: 16)))
      _ = try await SQLAccountStore(database).signUp(
        AnonymousSignUp(user: id, session: id, userMetadata: [:], now: 1_791_504_000_000))
    }
    let claimed = try await outbox.claim(Self.url, limit: 2, lease: 1, now: 1_791_504_000_000)
    try await outbox.delivered(claimed[0], outcome: "HTTP 204", now: 1_791_504_000_001)
    _ = try await outbox.failed(claimed[1], outcome: "HTTP 500", delay: nil, now: 1_791_504_000_001)
    return try await outbox.events(nil, url: nil, before: nil, limit: 9).reversed()
  }

  @Test("events are listed, by state, by endpoint, and the dead ones sent again")
  func commands() async throws {
    let events = try await prepare()
    let all = await bramley("list")
    #expect(all.code == .success, "\(all.errors)")
    let lines = all.output.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    #expect(lines.map { $0[0] } == events.reversed().map(\.id))
    #expect(lines.map { $0[2] } == ["waiting", "dead", "delivered"])
    #expect(lines[1][3...] == ["2026-10-09T00:00:00Z", "1", Self.url, events[1].user ?? "", "HTTP 500"])
    #expect(await bramley("list", "--state", "delivered", "--limit", "1").output.contains(events[0].id))
    #expect(await bramley("list", "--endpoint", "https://other.example/").output == "")
    #expect(await bramley("dead").output.split(separator: "\n").count == 1)
    #expect(await bramley("replay", "--dead").output == "1\tto be sent again\n")
    #expect(await bramley("dead").output == "")
    #expect(await bramley("replay", "--id", events[0].id).code == .success)
    #expect(await bramley("replay", "--id", events[0].id).code == .failure)
    #expect(await bramley("list", "--state", "waiting").output.split(separator: "\n").count == 3)
  }

  @Test("what the commands cannot make sense of")
  func usage() async throws {
    for wrong in [
      ["replay"], ["replay", "--id", "x", "--dead"], ["replay", "--id", "x", "--endpoint", "y"],
      ["list", "--state", "gone"], ["list", "--limit", "0"],
    ] {
      let run = await CommandRun(["admin", "events"] + wrong + ["--data", directory.path])
      #expect(run.code == .usage, "\(wrong)")
    }
    for wrong in ["http://example.com/", "ftp://127.0.0.1/", "http://10.0.0.1:1/", "x"] {
      #expect(await CommandRun(["dev", "--events", wrong, "--data", directory.path]).code == .usage)
      #expect(await CommandRun(["dev", "--hooks", wrong, "--data", directory.path]).code == .usage)
    }
  }
}
