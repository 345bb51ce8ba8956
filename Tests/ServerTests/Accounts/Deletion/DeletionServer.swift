import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing

@testable import Server

/// Deleting accounts as an app does.
extension AppleServer {
  static let clip = "com.example.clip"

  var deletions: SQLDeletionStore { SQLDeletionStore(server.whole.database) }

  /// A name as a client draws one.
  static func operation() -> String { Hex.encode(SecureRandom.bytes(16)) }

  func delete(_ session: ClientSession, _ members: [(String, JSONValue)] = []) async throws -> HTTPResponse {
    let response = try await server.ask(
      .delete, "/user", members.isEmpty ? "" : JSONValue.object(members).text, bearer: session.accessToken)
    await server.whole.background.drain()
    return response
  }

  func delete(_ session: ClientSession, as operation: String) async throws -> HTTPResponse {
    try await delete(session, [("operation_id", .string(operation))])
  }

  /// What everybody who knows the operation id is told.
  func state(_ operation: String) async throws -> String? {
    let response = try await server.whole.send(
      HTTPRequest(method: .get, target: "/auth/v1/deletions/\(operation)", peer: "192.0.2.1"))
    let json = try await response.json
    if response.status == 200 { #expect(json.members?.count == 1) }
    return json["state"]?.string ?? json["error_code"]?.string
  }

  func user(_ session: ClientSession) async throws -> User? {
    try await storedUsers(server).user(try #require(UUID(session.userID)))
  }

  /// A session whose refresh token of Apple is kept, by a client.
  func signInWithCode(_ account: String = AppleServer.ada, client: String) async throws -> ClientSession {
    let sheet = try await sheet(account, client: client)
    return try await ClientSession(
      grant(Self.body(sheet, [("authorization_code", .string(sheet.granted.authorizationCode))])))
  }

  func revocations() async -> Int { await apple.calls[.revoke] ?? 0 }

  func outcomes(_ name: String) -> Int { server.whole.server.metrics.deletions[name].value }

  func alarms(_ name: String) -> Int { server.whole.server.metrics.alarms[name].value }

  /// Lets so much time pass, and runs the job that goes on with deletions.
  func resume(after seconds: Int64) async throws {
    server.whole.clock.advance(seconds: seconds)
    let job = try #require(server.whole.server.jobs.first { $0.name == "resume_deletions" })
    await job.run()
    await server.whole.background.drain()
  }

  /// Executes a statement on the database.
  func sql(_ text: String) async throws {
    try await server.whole.database.write { try await $0.script(text) }
  }

  /// A table of the app's whose rows keep their users, and one row for everybody.
  func appTable() async throws {
    try await sql(
      """
      create table orders (id integer primary key, owner blob not null references users (id)) strict;
      insert into orders (owner) select id from users;
      """)
  }
}

/// Files of users, in memory.
final class InMemoryFiles: OwnedData {
  struct Broken: Error {}

  let name: String
  private let state = Mutex<(files: [UUID: [String]], fails: Bool, erasures: Int)>(([:], false, 0))

  init(_ name: String = "files") { self.name = name }

  func put(_ file: String, of user: UUID) { state.withLock { $0.files[user, default: []].append(file) } }
  func files(of user: UUID) -> [String] { state.withLock { $0.files[user] ?? [] } }
  func fail(_ fails: Bool) { state.withLock { $0.fails = fails } }
  var erasures: Int { state.withLock { $0.erasures } }

  func export(of user: UUID) async throws -> JSONValue { .array(files(of: user).map { .string($0) }) }

  func erase(of user: UUID) async throws {
    try state.withLock {
      $0.erasures += 1
      if $0.fails { throw Broken() }
      $0.files[user] = nil
    }
  }
}
