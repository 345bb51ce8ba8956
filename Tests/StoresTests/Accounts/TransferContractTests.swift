import Accounts
import Encodings
import SQL
import Stores
import Testing

private typealias Fixture = AccountFixture

/// The contract of ``TransferStore``.
@Suite struct TransferContractTests {
  private let now = Fixture.now
  private let source = "TEAM000001"
  private let target = "NEWTEAM789"

  private func begin(_ fixture: Fixture, accepted: Int64? = nil) async throws -> (
    SQLTransferStore, AccountTransfer
  ) {
    let store = SQLTransferStore(fixture.database)
    return (store, try await store.transfer(from: source, to: target, acceptedAt: accepted, now: now))
  }

  /// Somebody whose token is kept, exported as `t1`.
  private func exported(
    _ backend: Backend
  ) async throws -> (Fixture, OpenSession, SQLTransferStore, AccountTransfer) {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    try await fixture.tokens.keep(DeletionFixture.token(1), now: now)
    let (store, transfer) = try await begin(fixture)
    #expect(try await store.exported(Fixture.id(10_001), as: "t1", transfer, now: now))
    return (fixture, open, store, transfer)
  }

  private func rekeying(_ number: Int, _ subject: String, email: String? = nil) -> Rekeying {
    Rekeying(
      identity: Fixture.id(10_000 + number), subject: subject, email: email,
      isPrivateEmail: email.map { _ in true })
  }

  @Test("a transfer is one, whoever begins it again, and knows its sixty days", arguments: Backend.allCases)
  func begun(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let (store, transfer) = try await begin(fixture)
    #expect(transfer.acceptedAt == nil && transfer.remaining(at: now) == nil)
    let day: Int64 = 86_400_000
    let known = try await store.transfer(from: source, to: target, acceptedAt: now - day, now: now + 5)
    #expect(known.id == transfer.id && known.createdAt == now)
    #expect(known.remaining(at: now) == 59 * day)
    #expect(known.remaining(at: now + 59 * day) == 0)
    #expect(
      try await store.transfer(from: source, to: target, acceptedAt: nil, now: now).acceptedAt == now - day)
    #expect(try await store.transfer(from: target, to: source, acceptedAt: nil, now: now).id != transfer.id)
  }

  @Test(
    "a user at a time: what is done does not wait any more, who was refused only again",
    arguments: Backend.allCases)
  func steps(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...5 { _ = try await fixture.signIn(number, token: number, number).get() }
    _ = try await fixture.signUp(6)
    let (store, transfer) = try await begin(fixture)
    #expect(try await store.count(transfer, .export, again: false) == 5)
    #expect(try await store.count(transfer, .import, again: false) == 0)
    let all = try await store.waiting(transfer, .export, again: false, after: nil, limit: 9)
    #expect(all.count == 5 && all.allSatisfy { $0.result == .waiting && $0.identifier == nil })
    let second = try await store.waiting(transfer, .export, again: false, after: all[1].identity, limit: 2)
    #expect(second == [all[2], all[3]])
    #expect(try await store.exported(all[0].identity, as: "t0", transfer, now: now))
    try await store.refused(all[1].identity, reason: "Apple says invalid_request", transfer, now: now)
    #expect(
      try await store.waiting(transfer, .export, again: false, after: nil, limit: 9).map(\.identity)
        == all[2...].map(\.identity))
    #expect(try await store.count(transfer, .export, again: true) == 4)
    let ready = try await store.waiting(transfer, .import, again: false, after: nil, limit: 9)
    #expect(ready.map(\.identifier) == ["t0"] && ready.map(\.result) == [.exported])
    let results = try await store.results(transfer, after: nil, limit: 9)
    #expect(results.map(\.result) == [.exported, .refused, .waiting, .waiting, .waiting])
    #expect(results[1].reason == "Apple says invalid_request")
    // One that is gone is nobody's.
    #expect(try await store.exported(Fixture.id(1), as: "x", transfer, now: now) == false)
    try await store.refused(Fixture.id(1), reason: "x", transfer, now: now)
    #expect(try await store.rekey(rekeying(77, "n"), transfer, by: .command, now: now) == nil)
    #expect(try await store.results(transfer, after: nil, limit: 9).count == 5)
  }

  @Test(
    "re-keying keeps account, sessions and profile, and forgets what only the old team can use",
    arguments: Backend.allCases)
  func rekeyed(backend: Backend) async throws {
    let (fixture, open, store, transfer) = try await exported(backend)
    let new = rekeying(1, "new.sub", email: "new@privaterelay.appleid.com")
    #expect(try await store.rekey(new, transfer, by: .command, now: now + 5) == .transferred)
    let user = try #require(try await fixture.users.user(open.user.id))
    let identity = try #require(user.identities.first)
    #expect(identity.teamID == target && identity.subject == "new.sub" && identity.isPrivateEmail == true)
    #expect(identity.consentAt == open.user.identities.first?.consentAt)
    #expect(user.email == "new@privaterelay.appleid.com" && user.emailConfirmedAt != nil)
    #expect(try await fixture.accounts.session(open.session.id, now: now) != nil)
    #expect(try await fixture.count("apple_tokens") == 0)
    #expect(try await fixture.audit().last == "identity_transferred: TEAM000001 to NEWTEAM789")
    // Asked again, the same.
    #expect(try await store.rekey(new, transfer, by: .command, now: now) == .transferred)
    #expect(try await store.results(transfer, after: nil, limit: 9).map(\.result) == [.transferred])
    #expect(try await store.waiting(transfer, .import, again: true, after: nil, limit: 9).isEmpty)
    #expect(
      try await fixture.audit().count { $0.hasPrefix("identity_transferred") } == 1)
    var assertion = Fixture.assertion(1, token: 2, email: nil)
    (assertion.teamID, assertion.subject) = (target, "new.sub")
    #expect(try await fixture.accounts.signIn(Fixture.signIn(assertion, 5)).get().user.id == open.user.id)
  }

  @Test("who signs in first is found by transfer_sub, and the import sees it", arguments: Backend.allCases)
  func signedInFirst(backend: Backend) async throws {
    let (fixture, open, store, transfer) = try await exported(backend)
    var assertion = Fixture.assertion(1, token: 2)
    (assertion.teamID, assertion.subject, assertion.transferSubject) = (target, "new.sub", "t1")
    let again = try await fixture.accounts.signIn(Fixture.signIn(assertion, 5)).get()
    #expect(again.user.id == open.user.id && again.user.identities.map(\.subject) == ["new.sub"])
    #expect(try await fixture.count("apple_tokens") == 0, "nothing opens it under the new name")
    #expect(try await fixture.audit().contains("identity_transferred: TEAM000001 to NEWTEAM789"))
    #expect(try await store.results(transfer, after: nil, limit: 9).map(\.result) == [.signedInFirst])
    #expect(
      try await store.rekey(rekeying(1, "new.sub"), transfer, by: .command, now: now) == .signedInFirst)
  }

  @Test(
    "who made a second account before the export is a conflict, and neither is touched",
    arguments: Backend.allCases)
  func conflict(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.signIn(1, token: 1, 1).get()
    var assertion = Fixture.assertion(1, token: 2, email: nil)
    (assertion.teamID, assertion.subject, assertion.transferSubject) = (target, "new.sub", "t1")
    let second = try await fixture.accounts.signIn(Fixture.signIn(assertion, 5)).get()
    #expect(second.user.id != open.user.id)
    let (store, transfer) = try await begin(fixture)
    #expect(try await store.exported(Fixture.id(10_001), as: "t1", transfer, now: now))
    #expect(try await store.rekey(rekeying(1, "new.sub"), transfer, by: .command, now: now) == .conflict)
    #expect(try await fixture.users.user(open.user.id)?.identities.map(\.teamID) == [source])
    #expect(try await store.count(transfer, .import, again: false) == 0)
    #expect(try await fixture.delete(second.user.id, now: now))
    #expect(try await store.count(transfer, .import, again: true) == 1)
    #expect(try await store.rekey(rekeying(1, "new.sub"), transfer, by: .command, now: now) == .transferred)
  }

  @Test("imports and sign-ins of everybody at once end with one account each", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    for number in 1...12 { _ = try await fixture.signIn(number, token: number, number).get() }
    let (store, transfer) = try await begin(fixture)
    for user in try await store.waiting(transfer, .export, again: false, after: nil, limit: 99) {
      _ = try await store.exported(user.identity, as: "t" + user.subject, transfer, now: now)
    }
    try await withThrowingTaskGroup { group in
      for number in 1...12 {
        let name = "00000\(number).sub"
        group.addTask {
          let result = try await store.rekey(
            self.rekeying(number, "new" + name), transfer, by: .command, now: self.now)
          #expect(result == .transferred || result == .signedInFirst)
        }
        group.addTask {
          var assertion = Fixture.assertion(number, token: 100 + number)
          (assertion.teamID, assertion.subject) = (self.target, "new" + name)
          assertion.transferSubject = "t" + name
          let open = try await fixture.accounts.signIn(Fixture.signIn(assertion, 100 + number)).get()
          #expect(open.user.id == Fixture.id(number))
        }
      }
      try await group.waitForAll()
    }
    #expect(try await fixture.count("users") == 12)
    #expect(try await fixture.count("identities") == 12)
    #expect(try await fixture.count("identities where team_id = 'NEWTEAM789'") == 12)
  }
}
