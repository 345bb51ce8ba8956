import Accounts
import BramleyTesting
import Encodings
import Foundation
import SQL
import Stores
import System
import Testing

@Suite("The outbox of events") struct EventOutboxTests {
  private static let url = "https://app.example/hooks"
  private static let other = "https://other.example/hooks"
  private let now = AccountFixture.now

  /// A database whose endpoint takes everything, with so many events in it.
  private func fixture(_ backend: Backend, events: Int = 1) async throws -> (AccountFixture, SQLEventOutbox) {
    let fixture = try await AccountFixture(backend)
    let outbox = fixture.outbox
    try await outbox.subscribe([EventSubscription(url: Self.url, kinds: Set(OutgoingEvent.Kind.allCases))])
    for number in 0..<events { _ = try await fixture.signUp(number + 1) }
    return (fixture, outbox)
  }

  @Test(
    "what is claimed is one caller's until its lease ends, and then due again with its id",
    arguments: Backend.allCases)
  func lease(backend: Backend) async throws {
    let (kept, outbox) = try await fixture(backend)
    defer { withExtendedLifetime(kept) {} }
    let first = try await outbox.claim(Self.url, limit: 5, lease: 60_000, now: now)
    #expect(first.map(\.attempt) == [1] && first.map(\.type) == ["user.created"])
    #expect(try await outbox.claim(Self.url, limit: 5, lease: 60_000, now: now + 59_999).isEmpty)
    let second = try await outbox.claim(Self.url, limit: 5, lease: 60_000, now: now + 60_000)
    #expect(second.map(\.attempt) == [2])
    #expect(second.map(\.id) == first.map(\.id) && second.map(\.body) == first.map(\.body))
    // The first node says at last that it failed: that is not its business any more; that it delivered is.
    #expect(try await !outbox.failed(first[0], outcome: "500", delay: 1, now: now + 60_001))
    try await outbox.delivered(first[0], outcome: "204", now: now + 60_002)
    #expect(try await !outbox.failed(second[0], outcome: "500", delay: 1, now: now + 60_003))
    #expect(try await outbox.claim(Self.url, limit: 5, lease: 1, now: now + 1_000_000).isEmpty)
    #expect(try await outbox.events(nil, url: nil, before: nil, limit: 9).map(\.state) == [.delivered])
  }

  @Test(
    "what was written while the clock ran three days ahead is sent once housekeeping has seen it, a retry not sooner",
    arguments: Backend.allCases)
  func clockAhead(backend: Backend) async throws {
    let (fixture, outbox) = try await fixture(backend)
    let retry = try #require(try await outbox.claim(Self.url, limit: 1, lease: 60_000, now: now).first)
    #expect(try await outbox.failed(retry, outcome: "500", delay: 86_400_000, now: now + 1))
    _ = try await fixture.signIn(9, token: 9, 9, now: now + 3 * 86_400_000).get()
    _ = try await outbox.tidy(endedBefore: 0, limit: 9, now: now + 2)
    let claimed = try await outbox.claim(Self.url, limit: 9, lease: 60_000, now: now + 2)
    #expect(claimed.contains { $0.type == "user.created" } && !claimed.contains { $0.id == retry.id })
  }

  @Test("the body is what Standard Webhooks says, with ids and no token", arguments: Backend.allCases)
  func body(backend: Backend) async throws {
    let (fixture, outbox) = try await fixture(backend, events: 0)
    _ = try await fixture.signIn(1, token: 1, 1, now: now + 7).get()
    let claimed = try await outbox.claim(Self.url, limit: 5, lease: 1, now: now + 8)
    let body = try JSONReader.read(try #require(claimed.first).body)
    #expect(body["type"]?.string == "user.created")
    #expect(body["timestamp"]?.string == "2027-01-15T08:00:00.007Z")
    #expect(body["data"]?["user_id"]?.string == AccountFixture.id(1).description)
    #expect(body["data"]?["contact"]?["email"]?.string == "1@example.com")
    #expect(body["data"]?["contact"]?["may_market"]?.bool == true)
    #expect(claimed[0].id.hasPrefix("evt_") && claimed[0].id.utf8.count == 36)
  }

  @Test(
    "a failure puts it off, the last one makes it dead, and an operator revives it",
    arguments: Backend.allCases)
  func failures(backend: Backend) async throws {
    let (kept, outbox) = try await fixture(backend)
    defer { withExtendedLifetime(kept) {} }
    let first = try await outbox.claim(Self.url, limit: 1, lease: 1_000, now: now)[0]
    #expect(try await outbox.failed(first, outcome: "HTTP 500", delay: 5_000, now: now))
    #expect(try await outbox.claim(Self.url, limit: 1, lease: 1, now: now + 4_999).isEmpty)
    let second = try await outbox.claim(Self.url, limit: 1, lease: 1_000, now: now + 5_000)[0]
    #expect(try await outbox.failed(second, outcome: "HTTP 500", delay: nil, now: now + 5_001))
    #expect(try await outbox.claim(Self.url, limit: 1, lease: 1, now: .max / 2).isEmpty)
    let dead = try await outbox.events(.dead, url: Self.url, before: nil, limit: 9)
    #expect(dead.map(\.outcome) == ["HTTP 500"] && dead.map(\.attempts) == [2])
    #expect(try await outbox.replay(.id("evt_none"), now: now + 6_000) == 0)
    #expect(try await outbox.replay(.dead(url: Self.other), now: now + 6_000) == 0)
    #expect(try await outbox.replay(.dead(url: nil), now: now + 6_000) == 1)
    let third = try await outbox.claim(Self.url, limit: 1, lease: 1_000, now: now + 6_000)[0]
    #expect(third.id == first.id && third.attempt == 1)
    try await outbox.delivered(third, outcome: "HTTP 200", now: now + 6_001)
    #expect(try await outbox.replay(.dead(url: nil), now: now + 6_002) == 0)
    #expect(try await outbox.replay(.id(first.id), now: now + 6_003) == 1)
    #expect(try await outbox.claim(Self.url, limit: 1, lease: 1, now: now + 6_003).map(\.id) == [first.id])
  }

  @Test(
    "an endpoint that wants no more loses nothing, and gets all of it once it is replayed",
    arguments: Backend.allCases)
  func closed(backend: Backend) async throws {
    let (fixture, outbox) = try await fixture(backend)
    try await outbox.close(Self.url, now: now)
    _ = try await fixture.signUp(2)
    #expect(try await outbox.claim(Self.url, limit: 5, lease: 1, now: now + 1).isEmpty)
    #expect(try await outbox.events(.dead, url: Self.url, before: nil, limit: 9).count == 2)
    #expect(try await outbox.replay(.dead(url: Self.url), now: now + 2) == 2)
    _ = try await fixture.signUp(3)
    #expect(try await outbox.claim(Self.url, limit: 5, lease: 1, now: now + 2).count == 3)
  }

  @Test("what is subscribed is what was said last", arguments: Backend.allCases)
  func subscriptions(backend: Backend) async throws {
    let (fixture, outbox) = try await fixture(backend)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          try await outbox.subscribe([EventSubscription(url: Self.other, kinds: [.userCreated])])
        }
      }
      try await group.waitForAll()
    }
    _ = try await fixture.signUp(2)
    #expect(try await fixture.delete(AccountFixture.id(2), now: now))
    #expect(try await outbox.events(nil, url: Self.other, before: nil, limit: 9).count == 1)
    #expect(try await outbox.events(nil, url: Self.url, before: nil, limit: 9).count == 1)
    // What waits for the one that is gone is kept for three days, in case it comes back.
    #expect(try await outbox.tidy(endedBefore: 0, limit: 9, now: now + 3 * 86_400_000) == 0)
    #expect(try await outbox.events(.waiting, url: nil, before: nil, limit: 9).count == 2)
    #expect(try await outbox.tidy(endedBefore: 0, limit: 9, now: now + 3 * 86_400_000 + 1) == 0)
    #expect(try await outbox.events(.dead, url: nil, before: nil, limit: 9).map(\.url) == [Self.url])
    #expect(try await outbox.tidy(endedBefore: .max, limit: 9, now: now) == 1)
    #expect(try await outbox.events(nil, url: nil, before: nil, limit: 9).map(\.url) == [Self.other])
  }

  @Test("callers who come at once get each event once", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let (kept, outbox) = try await fixture(backend, events: 40)
    defer { withExtendedLifetime(kept) {} }
    #expect(try await Self.claimAll([outbox], now: now) == 40)
  }

  @Test("nodes that come at once get each event once", TestPostgres.required)
  func nodes() async throws {
    let nodes = try await NodeFixture(nodes: 3)
    let database = nodes.nodes[0].database
    try await SQLEventOutbox(database).subscribe([EventSubscription(url: Self.url, kinds: [.userCreated])])
    let accounts = SQLAccountStore(database)
    for number in 0..<60 {
      _ = try await accounts.signUp(
        AnonymousSignUp(
          user: AccountFixture.id(number), session: AccountFixture.id(9_000 + number), userMetadata: [:],
          now: now))
    }
    let outboxes = nodes.nodes.map { SQLEventOutbox($0.database, clock: .caller) }
    #expect(try await Self.claimAll(outboxes, now: now) == 60)
  }

  /// How many different events the callers got; one that two got is an issue.
  private static func claimAll(_ outboxes: [SQLEventOutbox], now: Int64) async throws -> Int {
    let ids = try await withThrowingTaskGroup(of: [String].self) { group in
      for caller in 0..<12 {
        group.addTask {
          var mine: [String] = []
          while true {
            let claimed = try await outboxes[caller % outboxes.count].claim(
              url, limit: 3, lease: 60_000, now: now)
            if claimed.isEmpty { return mine }
            mine += claimed.map(\.id)
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(ids).count == ids.count)
    return ids.count
  }

  @Test("killed between the claim and the word of it, the event is sent again with its id")
  func crash() async throws {
    let (fixture, outbox) = try await fixture(.disk, events: 3)
    let claimed = try await outbox.claim(Self.url, limit: 2, lease: 60_000, now: now)
    try await outbox.delivered(claimed[0], outcome: "HTTP 204", now: now + 1)
    // What a killed process leaves: the files as they are.
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "bramley-outbox-\(Foundation.UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "bramley.db").path
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: fixture.base.path + suffix, toPath: path + suffix)
    }
    let database = try Database(.file(path))
    defer { database.close() }
    let after = SQLEventOutbox(database, clock: .caller)
    #expect(try await after.claim(Self.url, limit: 9, lease: 1, now: now + 2).count == 1)
    let again = try await after.claim(Self.url, limit: 9, lease: 1, now: now + 60_000)
    #expect(again.contains { $0.id == claimed[1].id && $0.body == claimed[1].body })
    #expect(!again.contains { $0.id == claimed[0].id })
  }
}

extension AccountFixture {
  var outbox: SQLEventOutbox { SQLEventOutbox(base.database, clock: .caller) }
}
