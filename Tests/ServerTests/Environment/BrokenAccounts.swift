import Accounts
import Encodings
import HTTPMessages

@testable import Server

/// A database of accounts that answers nothing.
struct BrokenAccounts: AccountStore, UserStore, SigningKeyStore, AppleTokenStore, AppleEventStore,
  WebFlowStore,
  AdminKeyStore, AuditStore, DeletionStore, DeletionList
{
  struct Down: Error {}

  static var environment: AccountEnvironment {
    let broken = BrokenAccounts()
    return AccountEnvironment(
      store: broken, users: broken, signingKeys: broken, appleTokens: broken, appleEvents: broken,
      webFlows: broken,
      adminKeys: broken, audit: broken, deletions: broken,
      apple: Handler { _ in HTTPResponse(status: 500) })
  }

  func signUp(_ newcomer: AnonymousSignUp) async throws -> OpenSession { throw Down() }
  func signIn(_ signIn: IdentitySignIn) async throws -> Result<OpenSession, SignInRefusal> { throw Down() }
  func link(_ link: IdentityLink) async throws -> Result<OpenSession, SignInRefusal> { throw Down() }
  func reauthenticate(
    _ signIn: IdentitySignIn, bearer: UUID
  ) async throws -> Result<OpenSession, SignInRefusal> { throw Down() }
  func `switch`(_ change: AccountSwitch) async throws -> Result<OpenSession, SignInRefusal> { throw Down() }
  func leave(_ said: LeavingWord) async throws -> Result<Deletion?, SignInRefusal> { throw Down() }
  func refresh(_ refresh: Refresh) async throws -> RefreshOutcome { throw Down() }
  func session(_ id: UUID, now: Int64) async throws -> OpenSession? { throw Down() }
  func signOut(
    _ session: UUID, _ scope: SignOutScope, by origin: RequestOrigin, now: Int64
  ) async throws -> Bool { throw Down() }

  func user(_ id: UUID) async throws -> User? { throw Down() }
  func held(about id: UUID) async throws -> JSONValue { throw Down() }
  func users(offset: Int64, limit: Int64) async throws -> (users: [User], total: Int64) { throw Down() }
  func create(_ user: User, by origin: RequestOrigin) async throws -> UserCreation { throw Down() }
  func update(
    _ id: UUID, _ change: UserChange, by origin: RequestOrigin, now: Int64
  ) async throws -> Result<User, UserChangeRefusal>? { throw Down() }
  func idle(since cutoff: Int64, after: UUID?, limit: Int64) async throws -> [UUID] { throw Down() }
  func unlink(
    _ identity: UUID, of user: UUID, by origin: RequestOrigin, now: Int64
  ) async throws -> UnlinkOutcome { throw Down() }

  func signingKeys(fresh: StoredSigningKey, now: Int64) async throws -> [StoredSigningKey] { throw Down() }
  func rotate(
    to next: StoredSigningKey, after newest: String, keepUntil: Int64, now: Int64
  ) async throws -> Bool { throw Down() }
  func refreshSecrets(fresh: StoredRefreshSecret) async throws -> [StoredRefreshSecret] { throw Down() }
  func personSecret(fresh: [UInt8]) async throws -> [UInt8] { throw Down() }

  func add(_ challenge: AppleChallenge, now: Int64) async throws { throw Down() }
  func sweep(now: Int64) async throws { throw Down() }
  func keep(_ token: SealedAppleToken, of user: UUID?, now: Int64) async throws -> TokenKeeping {
    throw Down()
  }
  func due(now: Int64, retryAt: Int64, limit: Int64) async throws -> [SealedAppleToken] { throw Down() }
  func tokens(of user: UUID) async throws -> [SealedAppleToken] { throw Down() }
  func checked(_ id: Int64, _ verdict: AppleTokenVerdict, nextCheck: Int64, now: Int64) async throws {
    throw Down()
  }

  func record(_ events: [AppleEvent], now: Int64) async throws -> Bool { throw Down() }
  func pending(now: Int64, retryAt: Int64, limit: Int64) async throws -> [PendingAppleEvent] { throw Down() }
  func apply(
    _ id: String, consentHolds: Bool, policy: AppleEventPolicy, now: Int64
  ) async throws -> AppleEventResult? { throw Down() }
  func finish(_ id: String, _ outcome: AppleEventOutcome, now: Int64) async throws { throw Down() }
  func revoking(teamID: String, subject: String, now: Int64) async throws { throw Down() }
  func notRevoked(teamID: String, subject: String) async throws { throw Down() }
  func forget(before time: Int64) async throws { throw Down() }

  func begin(_ request: DeletionRequest) async throws -> Result<DeletionBeginning, DeletionRefusal> {
    throw Down()
  }
  func record(
    _ id: Int64, token: Int64, _ result: RevocationResult, lease: Int64, now: Int64
  ) async throws -> Deletion? { throw Down() }
  func erased(_ id: Int64, _ name: String, lease: Int64, now: Int64) async throws -> Deletion? {
    throw Down()
  }
  func keep(_ id: Int64, failure: String, now: Int64) async throws -> Deletion? { throw Down() }
  func finish(_ id: Int64, now: Int64) async throws -> Result<Deletion, DeletionRefusal> { throw Down() }
  func postpone(_ id: Int64, failure: String, now: Int64) async throws -> Deletion? { throw Down() }
  func claim(lease: Int64, now: Int64) async throws -> Deletion? { throw Down() }
  func deletion(_ name: DeletionName) async throws -> Deletion? { throw Down() }
  func name(_ id: Int64, _ operation: OperationID) async throws { throw Down() }
  func deletions(all: Bool, limit: Int64) async throws -> [Deletion] { throw Down() }
  func retry(_ operation: OperationID, now: Int64) async throws -> Deletion? { throw Down() }
  func forget(before time: Int64, leavingBefore: Int64) async throws -> Int { throw Down() }

  func begin(_ flow: WebFlow) async throws { throw Down() }
  func answer(_ stateHash: [UInt8], now: Int64) async throws -> WebFlow? { throw Down() }
  func complete(
    _ flow: UUID, with assertion: IdentityAssertion, token: SealedAppleToken?, codeHash: [UInt8],
    expiresAt: Int64
  ) async throws { throw Down() }
  func peek(_ codeHash: [UInt8]) async throws -> CompletedFlow? { throw Down() }

  func createAdminKey(name: String, hash: [UInt8], now: Int64) async throws -> Bool { throw Down() }
  func revokeAdminKey(name: String) async throws -> Bool { throw Down() }
  func adminKeys() async throws -> [ListedAdminKey] { throw Down() }
  func adminKey(hash: [UInt8]) async throws -> String? { throw Down() }

  func audit(_ filter: AuditFilter, before: Int64?, limit: Int64) async throws -> [AuditEntry] {
    throw Down()
  }
  func forgetAudit(before time: Int64, limit: Int64) async throws -> Int { throw Down() }
}
