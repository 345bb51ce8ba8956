import Accounts
import Encodings
import SQL
import Stores
import Testing

/// A database with the stores of accounts on it, and requests as the server would make them.
struct AccountFixture: Sendable {
  static let now: Int64 = 1_800_000_000_000
  static let key = StoreFixture.octets(1, 32)
  static let policy = SignInPolicy()

  let base: StoreFixture
  var database: Database { base.database }
  var accounts: SQLAccountStore { SQLAccountStore(base.database) }
  var users: SQLUserStore { SQLUserStore(base.database) }
  var tokens: SQLAppleTokenStore { SQLAppleTokenStore(base.database) }
  var events: SQLAppleEventStore { SQLAppleEventStore(base.database) }

  init(base: StoreFixture) { self.base = base }

  init(_ backend: Backend) async throws { base = try await StoreFixture(backend) }

  static func id(_ number: Int) -> UUID {
    guard let id = UUID(octets: StoreFixture.octets(number, 16).reversed()) else {
      preconditionFailure("16 octets make a UUID")
    }
    return id
  }

  static func hash(_ number: Int) -> [UInt8] { StoreFixture.octets(number, 32) }

  /// What the token number `token` of the Apple account `subject` says.
  static func assertion(
    _ subject: Int, token: Int, now: Int64 = now, email: String?? = .none
  ) -> IdentityAssertion {
    IdentityAssertion(
      teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: "com.example.app",
      issuer: "https://appleid.apple.com", issuedAt: now - 2_000, expiresAt: now + 86_398_000,
      authTime: now - 3_000, email: email ?? "\(subject)@example.com", isEmailVerified: true,
      tokenHash: hash(1_000 + token), requestHash: hash(2_000 + token))
  }

  /// `number` names whatever it makes: user, identity, session.
  static func signIn(
    _ assertion: IdentityAssertion, _ number: Int, policy: SignInPolicy = policy, now: Int64 = now,
    keyID: [UInt8]? = nil
  ) -> IdentitySignIn {
    IdentitySignIn(
      assertion, user: id(number), identity: id(10_000 + number), session: id(20_000 + number),
      policy: policy, keyID: keyID, now: now)
  }

  func signUp(_ number: Int, now: Int64 = now, keyID: [UInt8]? = nil) async throws -> OpenSession {
    try await accounts.signUp(
      AnonymousSignUp(
        user: Self.id(number), session: Self.id(20_000 + number), userMetadata: [:], keyID: keyID, now: now))
  }

  func signIn(
    _ subject: Int, token: Int, _ number: Int, policy: SignInPolicy = policy, now: Int64 = now
  ) async throws -> Result<OpenSession, SignInRefusal> {
    try await accounts.signIn(
      Self.signIn(Self.assertion(subject, token: token, now: now), number, policy: policy, now: now))
  }

  static func link(
    _ assertion: IdentityAssertion, _ number: Int, bearer: UUID, policy: SignInPolicy = policy,
    now: Int64 = now
  ) -> IdentityLink {
    IdentityLink(
      signIn(assertion, number, policy: policy, now: now), bearer: bearer, ticketHash: hash(3_000 + number),
      ticketExpiresAt: now + 300_000, maxAge: 300)
  }

  func link(
    _ subject: Int, token: Int, _ number: Int, bearer: UUID, policy: SignInPolicy = policy, now: Int64 = now
  ) async throws -> Result<OpenSession, SignInRefusal> {
    try await accounts.link(
      Self.link(
        Self.assertion(subject, token: token, now: now), number, bearer: bearer, policy: policy, now: now))
  }

  func refresh(
    _ session: UUID, _ counter: Int64, keyID: [UInt8]? = nil, binding: RefreshBinding = .prefer,
    now: Int64 = now
  ) async throws -> RefreshOutcome {
    try await accounts.refresh(
      Refresh(
        session: session, counter: counter, keyID: keyID, binding: binding, policy: SessionPolicy(), now: now)
    )
  }

  /// Deletes the user as the server does, for whom nothing is to be revoked or erased first; false where there is none.
  func delete(
    _ user: UUID, by origin: RequestOrigin = .user, in other: Database? = nil, now: Int64 = now
  ) async throws -> Bool {
    let store = SQLDeletionStore(other ?? database)
    var request = DeletionFixture.request(
      user, 0x8000 | Int(user.octets[8]) | Int(user.octets[9]) << 8, policy: .eventual, now: now)
    request.origin = origin
    switch try await store.begin(request) {
    case .failure(.userNotFound), .success(.known): return false
    case .failure(let refusal): throw refusal
    case .success(.begun(let deletion)):
      return try await store.finish(deletion.id, now: now).get().state == .deleted
    }
  }

  func count(_ table: String) async throws -> Int64 {
    try await database.read { try await $0.first("select count(*) from \(table)") { $0.int64(0) } ?? -1 }
  }

  func audit() async throws -> [String] {
    try await database.read {
      try await $0.rows("select action, reason from audit_log order by id") {
        $0.string(0) + ($0.optionalString(1).map { ": \($0)" } ?? "")
      }
    }
  }
}

extension Result where Failure == SignInRefusal {
  var refusal: SignInRefusal? { if case .failure(let refusal) = self { refusal } else { nil } }
}

extension RefreshOutcome {
  var session: OpenSession? { if case .refreshed(let open) = self { open } else { nil } }
  var refusal: RefreshRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}
