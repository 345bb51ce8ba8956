import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite("Deletions that were interrupted") struct DeletionResumeTests {
  private typealias Case = AppleServer

  /// What a process had written down when it ended.
  enum Interruption: CaseIterable, Sendable {
    case afterBeginning
    /// Apple was asked, and its answer not written down.
    case amidRevoking
    case afterRevoking
    case afterErasing
    case afterFinishing
    case afterKeeping
  }

  @Test(
    "RULES §4.1: killed after any step, another process goes on from what was written down",
    arguments: Interruption.allCases, Deletion.Policy.allCases)
  func resumed(at point: Interruption, policy: Deletion.Policy) async throws {
    let files = InMemoryFiles()
    let apple = try await AppleServer({ $0.auth?.deletionPolicy = policy }, owned: [files])
    let session = try await apple.signInWithCode(client: Case.app)
    let id = try #require(UUID(session.userID))
    files.put("a.jpg", of: id)
    let store = apple.deletions
    let (name, now) = (Case.operation(), apple.server.whole.clock.now)
    let begun = try await store.begin(
      DeletionRequest(
        user: id, operation: try #require(OperationID(name)), origin: .user, policy: policy, proof: .none,
        owned: [files.name], lease: now + 60_000, now: now)
    ).get().deletion
    let token = try #require(begun.tokens.first)
    switch point {
    case .afterBeginning: break
    case .amidRevoking:
      _ = try await apple.apple.revokeConsent(account: Case.ada, client: Case.app)
    case .afterRevoking:
      _ = try await store.record(begun.id, token: token.id, .revoked, lease: now + 60_000, now: now)
    case .afterErasing: _ = try await store.erased(begun.id, files.name, lease: now + 60_000, now: now)
    case .afterFinishing: _ = try await store.finish(begun.id, now: now).get()
    case .afterKeeping: _ = try await store.keep(begun.id, failure: "Apple", now: now)
    }
    let stateBefore = try await apple.state(name)
    try await apple.resume(after: point == .afterFinishing ? 0 : 59)
    if point != .afterFinishing { #expect(try await apple.state(name) == stateBefore) }
    try await apple.resume(after: 2)
    if point == .afterKeeping {
      #expect(try await apple.state(name) == "not_deleted")
      #expect(try await apple.isLive(session))
      #expect(files.files(of: id) == ["a.jpg"])
      return
    }
    #expect(try await apple.state(name) == "deleted")
    #expect(try await apple.user(session) == nil)
    #expect(await apple.revocations() == (point == .afterRevoking ? 0 : 1))
    if point != .afterErasing { #expect(files.files(of: id).isEmpty) }
    #expect(files.erasures == (point == .afterErasing ? 0 : 1))
    try await apple.resume(after: 100)
    #expect(try await apple.deletions.deletions(all: false, limit: 9).isEmpty)
    #expect(await apple.revocations() <= 1)
  }

  @Test("RULES §4.1: the account is given back also by a process that goes on, where Apple fails first")
  func keptByResumption() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let (name, now) = (Case.operation(), apple.server.whole.clock.now)
    _ = try await apple.deletions.begin(
      DeletionRequest(
        user: try #require(UUID(session.userID)), operation: try #require(OperationID(name)), origin: .user,
        policy: .required, proof: .none, lease: now, now: now))
    #expect(try await apple.state(name) == "deletion_pending")
    await apple.apple.fail(.revoke, with: .status(500))
    try await apple.resume(after: 1)
    #expect(try await apple.state(name) == "not_deleted")
    #expect(try await apple.isLive(session))
  }

  @Test("asked twice at once it runs once, and both learn of it")
  func atOnce() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let operation = Case.operation()
    let states = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
      for number in 0..<16 {
        group.addTask {
          let response = try await apple.delete(
            session, as: number.isMultiple(of: 2) ? operation : Case.operation())
          return (response.status, try await response.json["state"]?.string)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for (status, state) in states {
      #expect((status, state) == (200, "deleted") || (status, state) == (202, "deletion_pending"))
    }
    #expect(states.contains { $0.0 == 200 })
    #expect(await apple.revocations() == 1 && apple.outcomes("begun") == 1)
    #expect(try await apple.state(operation) == "deleted")
  }

  @Test("under whatever operation id it is asked for, that id finds it: while it runs, and when it is done")
  func names() async throws {
    let isAsked = Signal()
    let mayAnswer = Signal()
    let apple = try await AppleServer(instead: { request in
      guard request.path == "/auth/revoke" else { return nil }
      isAsked.send()
      await mayAnswer.wait()
      return nil
    })
    let session = try await apple.signInWithCode(client: Case.app)
    let (first, second, third) = (Case.operation(), Case.operation(), Case.operation())
    let deleting = Task {
      try await apple.server.ask(
        .delete, "/user", JSONValue.object([("operation_id", .string(first))]).text,
        bearer: session.accessToken)
    }
    await isAsked.wait()
    let pending = try await apple.server.ask(
      .delete, "/user", JSONValue.object([("operation_id", .string(second))]).text,
      bearer: session.accessToken)
    #expect(pending.status == 202)
    #expect(try await apple.state(second) == "deletion_pending")
    mayAnswer.send()
    #expect(try await deleting.value.status == 200)
    #expect(try await apple.delete(session, as: third).status == 200)
    for operation in [first, second, third] { #expect(try await apple.state(operation) == "deleted") }
    #expect(await apple.revocations() == 1)
  }

  @Test("an operation that left the account in place tells of the later one that deleted it")
  func keptThenDeleted() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode(client: Case.app)
    let (first, second) = (Case.operation(), Case.operation())
    await apple.apple.fail(.revoke, with: .status(500))
    #expect(try await apple.delete(session, as: first).status == 503)
    #expect(try await apple.state(first) == "not_deleted")
    #expect(try await apple.delete(session, as: second).status == 200)
    for operation in [first, second] { #expect(try await apple.state(operation) == "deleted") }
  }

  @Test("the answer lost: who left while Apple was asked is deleted all the same, and learns it")
  func answerLost() async throws {
    let isAsked = Signal()
    let mayAnswer = Signal()
    let apple = try await AppleServer(instead: { request in
      guard request.path == "/auth/revoke" else { return nil }
      isAsked.send()
      await mayAnswer.wait()
      try Task.checkCancellation()
      return nil
    })
    let session = try await apple.signInWithCode(client: Case.app)
    let operation = Case.operation()
    let asking = Task { try await apple.delete(session, as: operation) }
    await isAsked.wait()
    asking.cancel()
    mayAnswer.send()
    await #expect(throws: CancellationError.self) { _ = try await asking.value }
    await apple.server.whole.background.drain()
    #expect(try await apple.state(operation) == "deleted")
    #expect(try await apple.delete(session).json["state"]?.string == "deleted")
  }

  @Test("what cannot be erased is logged, tried again, and does not stop the deletion")
  func owned() async throws {
    let (files, notes) = (InMemoryFiles(), InMemoryFiles("notes"))
    let apple = try await AppleServer(owned: [files, notes])
    let session = try await apple.signInWithCode(client: Case.app)
    let other = try await apple.signIn(Case.grace)
    let id = try #require(UUID(session.userID))
    let foreign = try #require(UUID(other.userID))
    for user in [id, foreign] { for data in [files, notes] { data.put("a", of: user) } }
    files.fail(true)
    #expect(try await apple.delete(session).json["state"]?.string == "deleted")
    #expect(files.files(of: id) == ["a"] && notes.files(of: id).isEmpty)
    #expect(apple.server.whole.lines.values.contains { $0.contains("account_data_not_erased") })
    // Once at once, and then when its time has come.
    try await apple.resume(after: 30)
    #expect(files.erasures == 2)
    files.fail(false)
    try await apple.resume(after: 31)
    #expect(files.files(of: id).isEmpty && files.files(of: foreign) == ["a"])
    #expect(notes.files(of: foreign) == ["a"])
    #expect(try await apple.deletions.deletions(all: false, limit: 9).isEmpty)
  }
}
