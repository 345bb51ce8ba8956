import Accounts
import Encodings
import SQL
import Stores
import Testing

/// Deletions over a database with accounts.
struct DeletionFixture: Sendable {
  typealias Fixture = AccountFixture
  static let now = AccountFixture.now
  static let lease = now + 60_000

  let accounts: AccountFixture
  let store: SQLDeletionStore

  init(_ backend: Backend) async throws {
    accounts = try await AccountFixture(backend)
    store = SQLDeletionStore(accounts.database)
  }

  static func operation(_ number: Int) -> OperationID {
    let octets: [UInt8] = [
      UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8), 0x1f, 0x07, 0xe3, 0x5a, 0xb8,
      0x44, 0xd1, 0x2e, 0x6b, 0xf0, 0x83, 0x15, 0xc7, 0x39,
    ]
    guard let id = OperationID(octets) else { preconditionFailure("these are varied enough") }
    return id
  }

  static func token(_ subject: Int, client: String = "c", sealed: [UInt8] = [1]) -> SealedAppleToken {
    SealedAppleToken(
      teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: client, sealingKey: "k", sealed: sealed,
      nextCheck: now)
  }

  static func request(
    _ user: UUID, _ number: Int = 1, policy: Deletion.Policy = .required,
    proof: DeletionRequest.Proof = .none, fresh: SealedAppleToken? = nil, owned: [String] = [],
    now: Int64 = now
  ) -> DeletionRequest {
    DeletionRequest(
      user: user, operation: operation(number), origin: .user, policy: policy, proof: proof, fresh: fresh,
      owned: owned, lease: now + 60_000, now: now)
  }

  /// Somebody with an Apple identity, and with tokens under these client ids.
  func person(_ subject: Int = 1, clients: [String] = []) async throws -> OpenSession {
    let open = try await accounts.signIn(subject, token: subject, subject).get()
    for (number, client) in clients.enumerated() {
      try await accounts.tokens.keep(
        Self.token(subject, client: client, sealed: [UInt8(number), 7]), now: Self.now)
    }
    return open
  }

  func begin(_ request: DeletionRequest) async throws -> Deletion {
    let beginning = try await store.begin(request).get()
    guard case .begun(let deletion) = beginning else {
      Issue.record("\(beginning)")
      return beginning.deletion
    }
    return deletion
  }

  func user(_ id: UUID) async throws -> User? { try await accounts.users.user(id) }

  /// A table of the app's, with one row for the user.
  func appTable(_ name: String, _ rule: String, of user: UUID) async throws {
    try await accounts.database.write { transaction in
      try await transaction.script(
        "create table \(name) (id integer primary key, owner blob /*uuid*/ not null references users (id) \(rule)) strict"
      )
      try await transaction.execute(
        "insert into \(name) (id, owner) values (1, $1)", [.uuid(user.octets)])
    }
  }
}

extension Result where Failure == DeletionRefusal {
  var refusal: DeletionRefusal? { if case .failure(let refusal) = self { refusal } else { nil } }
}
