import Accounts
import Encodings
import Foundation
import SQL
import Stores
import Synchronization
import System
import Testing

/// A crash is played by copying the file and its log while the load runs (see `CrashTests`): what is in them is
/// what a process leaves that is killed between any two steps, or in the middle of one.
@Suite("Crashes of accounts") struct AccountCrashTests {
  private typealias Fixture = AccountFixture
  private typealias ID = Encodings.UUID

  /// What a phone was answered last.
  private struct Phone: Sendable {
    var number: Int
    var guest: OpenSession?
    /// The counter of the token that it holds.
    var held: Int64 = 0
    var linked: OpenSession?
    /// The sign-in that its second phone was answered.
    var second: OpenSession?
  }

  private final class Load: Sendable {
    let phones = Locked<[Int: Phone]>([:])
    let isOver = Atomic(false)
  }

  @Test("what was answered is there after a crash, once, and what was not can be asked again")
  func crashes() async throws {
    let base = try await StoreFixture(.disk, tuning: DatabaseTuning(checkpointPages: 0))
    let fixture = AccountFixture(base: base)
    let load = Load()
    let crashes = try await withThrowingTaskGroup(of: [Crash].self) { group in
      group.addTask {
        var crashes: [Crash] = []
        while !load.isOver.load(ordering: .acquiring) {
          crashes.append(try Crash(of: base, phones: load.phones.withLock { $0 }))
          try await Task.sleep(for: .milliseconds(5))
        }
        return crashes
      }
      try await withThrowingTaskGroup { callers in
        for worker in 0..<16 {
          callers.addTask {
            for round in 0..<8 { try await Self.live(worker * 8 + round + 1, fixture, load) }
          }
        }
        try await callers.waitForAll()
      }
      load.isOver.store(true, ordering: .releasing)
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(crashes.count > 3)
    for crash in crashes.suffix(6) { try await crash.check() }
  }

  /// A phone signs up, refreshes, links its Apple account; a second phone of the same person signs in.
  private static func live(
    _ number: Int, _ fixture: AccountFixture, _ load: Load
  ) async throws {
    var phone = Phone(number: number)
    func answered() { load.phones.withLock { [phone] in $0[number] = phone } }
    let guest = try await fixture.signUp(number)
    phone.guest = guest
    answered()
    for counter: Int64 in 0..<3 {
      let open = try #require(try await fixture.refresh(guest.session.id, counter).session)
      phone.held = open.session.counter
      answered()
    }
    phone.linked = try await fixture.link(number, token: number, 1_000 + number, bearer: guest.session.id)
      .get()
    answered()
    phone.second = try await fixture.signIn(number, token: 5_000 + number, 2_000 + number).get()
    answered()
  }

  /// The files of one moment, and what phones had been answered before it.
  private final class Crash: Sendable {
    private let phones: [Int: Phone]
    private let directory: URL
    private let path: String

    init(of fixture: StoreFixture, phones: [Int: Phone]) throws {
      self.phones = phones
      directory = FileManager.default.temporaryDirectory.appending(
        path: "bramley-crash-\(Foundation.UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      path = directory.appending(path: "bramley.db").path
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: fixture.path + suffix, toPath: path + suffix)
      }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func check() async throws {
      let database = try Database(.file(path))
      defer { database.close() }
      let accounts = SQLAccountStore(database)
      let halves = try await database.read {
        try await $0.first(
          """
          select (select count(*) from users where is_anonymous = 0
              and id not in (select user_id from identities))
            + (select count(*) from users where is_anonymous = 1 and id in (select user_id from identities))
            + (select count(*) from users where id not in (select user_id from sessions))
            + (select count(*) from used_identity_tokens where session not in (select id from sessions))
            + (select count(*) from sessions where successor not in (select id from sessions))
            + (select count(*) from users where id not in (select user_id from audit_log))
          """
        ) { $0.int64(0) }
      }
      #expect(halves == 0)
      try await withThrowingTaskGroup { group in
        for phone in phones.values { group.addTask { try await self.check(phone, accounts) } }
        try await group.waitForAll()
      }
      let users = try await database.read { try await $0.first("select count(*) from users") { $0.int64(0) } }
      // The phones that were answered, and those whose answer was on its way.
      #expect((phones.count...phones.count + 16).contains(Int(users ?? 0)))
    }

    private func check(_ phone: Phone, _ accounts: SQLAccountStore) async throws {
      let guest = try #require(phone.guest)
      // The token that the phone holds is taken: it is the current one, or its parent.
      let refreshed = try await accounts.refresh(
        Refresh(
          session: guest.session.id, counter: phone.held, binding: .prefer, policy: SessionPolicy(),
          now: Fixture.now))
      #expect(refreshed.session?.user.id == guest.user.id)
      // Whatever was answered or not: the same requests again have one outcome.
      let link = Fixture.link(
        Fixture.assertion(phone.number, token: phone.number), 1_000 + phone.number, bearer: guest.session.id)
      let linked = try await accounts.link(link).get()
      #expect(linked.user.id == guest.user.id)
      #expect(linked.user.identities.count == 1)
      if let answered = phone.linked { #expect(linked.session.id == answered.session.id) }
      let signIn = Fixture.signIn(
        Fixture.assertion(phone.number, token: 5_000 + phone.number), 2_000 + phone.number)
      let second = try await accounts.signIn(signIn).get()
      #expect(second.user.id == guest.user.id)
      if let answered = phone.second { #expect(second.session == answered.session) }
    }
  }
}
