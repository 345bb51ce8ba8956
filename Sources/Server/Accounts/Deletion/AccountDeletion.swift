import Accounts
import BramleyAPI
import Encodings
import HTTPMessages
import SignInWithApple

/// Deletes accounts (RULES §4): begins a deletion and carries it out step by step, each written down before the next.
struct AccountDeletion: Sendable {
  /// For how long a round keeps others away after each of its steps, milliseconds: longer than Apple may take for
  /// one. Should it take longer still, two rounds at once do no harm.
  static let lease: Int64 = 30_000

  let environment: Environment
  let ports: AccountEnvironment
  let policy: Deletion.Policy
  /// nil where Sign in with Apple is not configured.
  let exchange: AppleExchange?
  let metrics: Metrics
  let log: ApplicationLog

  private var store: any DeletionStore & DeletionList { ports.deletions }

  /// How a round ended.
  enum Ending: Sendable, Equatable {
    /// The account is gone, or will be: the deletion only goes forward.
    case going(Deletion)
    /// Apple failed before anything happened.
    case kept(Deletion, retryAfter: Int64?)
    /// A table of the app's refused before anything happened.
    case blocked(String)
  }

  /// Deletes a user on the word of an operator or of Apple. A user who is being deleted already is not asked about
  /// again, and one who is gone is a refusal.
  ///
  /// Throws what the database throws; asked again, it goes on.
  func start(user: UUID, origin: RequestOrigin) async throws -> Result<Ending, DeletionRefusal> {
    // Whoever deleted the Apple Account, or took the consent back, need not wait for Apple.
    let policy = origin.actor == .apple ? .eventual : policy
    return try await start(
      user: user, operation: try fresh(), origin: origin, policy: policy, proof: .none,
      reason: origin.actor == .apple ? "told by Apple" : nil, fresh: nil)
  }

  /// Deletes an anonymous user of whom nothing was seen since then (RULES §3.10).
  func startIdle(user: UUID, since cutoff: Int64) async throws -> Result<Ending, DeletionRefusal> {
    try await start(
      user: user, operation: try fresh(), origin: .server, policy: .eventual, proof: .idle(since: cutoff),
      reason: "idle", fresh: nil)
  }

  /// Carries out soon what another step began: an anonymous user who was discarded.
  func followUp() { environment.background { await goOn() } }

  /// Begins the deletion and carries it out as far as it goes.
  ///
  /// - Parameter fresh: what an authorization code was exchanged for.
  func start(
    user: UUID, operation: OperationID, origin: RequestOrigin, policy: Deletion.Policy? = nil,
    proof: DeletionRequest.Proof, reason: String? = nil, fresh: SealedAppleToken?
  ) async throws -> Result<Ending, DeletionRefusal> {
    let now = environment.now()
    let request = DeletionRequest(
      user: user, operation: operation, origin: origin, policy: policy ?? self.policy, proof: proof,
      reason: reason, fresh: fresh, owned: ports.owned.map(\.name), lease: now + Self.lease, now: now)
    switch try await store.begin(request) {
    case .failure(let refusal):
      if case .blocked = refusal { note("blocked", user) }
      return .failure(refusal)
    case .success(.known(let deletion)):
      // The one that runs, or ran, knows nothing of this consent.
      await exchange?.keep(fresh, of: user)
      return .success(.going(deletion))
    case .success(.begun(let deletion)):
      note("begun", deletion)
      do {
        return .success(try await carryOut(deletion))
      } catch let error as CancellationError {
        // Whoever asked left; what was begun goes on.
        environment.background { await goOn(operation) }
        throw error
      }
    }
  }

  /// A name for a deletion whose client gave none.
  func fresh() throws -> OperationID {
    for _ in 0..<8 { if let id = OperationID(environment.random(16)) { return id } }
    throw Failure(500, .internalError, "The server made a mistake.", diagnosis: "random octets")
  }

  /// Carries out what is due: what a process left that ended, what failed before, and what follows an account that is
  /// gone.
  func resume() async throws {
    var failure: (any Error)?
    for _ in 0..<1_000 {
      try Task.checkCancellation()
      let now = environment.now()
      guard let deletion = try await store.claim(lease: now + Self.lease, now: now) else { break }
      do {
        _ = try await carryOut(deletion)
      } catch let error as CancellationError {
        throw error
      } catch {
        // It holds up no other, and comes again when its lease is over.
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Forgets what is long done.
  func forget() async throws {
    let now = environment.now()
    let forgotten = try await store.forget(
      before: now - DeletionRule.memory, leavingBefore: now - DeletionRule.longMemory)
    if forgotten > 0 { log.info("deletions_forgotten", [("count", .integer(Int64(forgotten)))]) }
  }

  // MARK: A round

  private func carryOut(_ begun: Deletion) async throws -> Ending {
    var saga = DeletionSaga(begun)
    var outcome = DeletionSaga.Outcome.began
    var ending: Ending?
    while true {
      let action = saga.next(after: outcome)
      switch action {
      case .revoke(let token): outcome = try await revoke(token, saga.deletion, &ending)
      case .erase(let name): outcome = try await erase(name, saga.deletion)
      case .finish: outcome = try await finish(saga.deletion, &ending)
      case .keep(let reason):
        outcome = try await step(saga.deletion) {
          try await store.keep(saga.deletion.id, failure: reason, now: environment.now())
        }
      case .rest(let reason): return try await rest(saga.deletion, reason, ending)
      }
    }
  }

  private func revoke(
    _ token: DeletionToken, _ deletion: Deletion, _ ending: inout Ending?
  ) async throws -> DeletionSaga.Outcome {
    let result: RevocationResult
    switch try await exchange?.revoke(token.token) ?? .unusable {
    case .revoked: result = .revoked
    case .unusable:
      note("unusable", deletion)
      result = .unusable
    case .failed(let refusal):
      var retryAfter: Int64?
      if case .retryable(_, let seconds) = refusal { retryAfter = seconds }
      ending = .kept(deletion, retryAfter: retryAfter)
      return .failed(refusal.description)
    }
    return try await step(deletion) {
      let now = environment.now()
      return try await store.record(
        deletion.id, token: token.id, result, lease: now + Self.lease, now: now)
    }
  }

  private func erase(_ name: String, _ deletion: Deletion) async throws -> DeletionSaga.Outcome {
    do {
      try await ports.owned.first { $0.name == name }?.erase(of: deletion.user)
    } catch let error as CancellationError {
      throw error
    } catch {
      log.error(
        "account_data_not_erased",
        [
          ("user", .string(deletion.user.description)), ("data", .string(name)),
          ("error", .string("\(error)")),
        ])
      return .failed("\(name) could not be erased")
    }
    return try await step(deletion) {
      let now = environment.now()
      return try await store.erased(deletion.id, name, lease: now + Self.lease, now: now)
    }
  }

  private func finish(_ deletion: Deletion, _ ending: inout Ending?) async throws -> DeletionSaga.Outcome {
    switch try await store.finish(deletion.id, now: environment.now()) {
    case .success(let row):
      note("deleted", row)
      return .done(row)
    case .failure(let refusal):
      guard case .blocked(let what) = refusal else { throw DeletionVanished() }
      ending = .blocked(what)
      if deletion.state == .committed {
        metrics.alarms[Metrics.Alarm.deletion].add()
        log.error(
          "account_deletion_stuck",
          [("user", .string(deletion.user.description)), ("error", .string(what))])
      }
      return .failed("a table refuses: \(what)")
    }
  }

  private func rest(_ deletion: Deletion, _ reason: String?, _ ending: Ending?) async throws -> Ending {
    if deletion.state == .kept {
      note("kept", deletion)
      switch ending {
      case .kept(_, let retryAfter): return .kept(deletion, retryAfter: retryAfter)
      case .going, nil: return .kept(deletion, retryAfter: nil)
      case .blocked(let what): return .blocked(what)
      }
    }
    guard deletion.isUnfinished else { return .going(deletion) }
    guard let reason else {
      // The account is gone, and what comes after it is another round's.
      environment.background { await goOn() }
      return .going(deletion)
    }
    let row = try await store.postpone(deletion.id, failure: reason, now: environment.now())
    guard let row else { return .going(deletion) }
    note("postponed", row)
    if !deletion.waiting.isEmpty, row.waiting.isEmpty {
      metrics.alarms[Metrics.Alarm.deletion].add()
      log.error(
        "apple_consent_given_up",
        [("user", .string(row.user.description)), ("error", .string(reason))])
    }
    return .going(row)
  }

  /// Somebody removed the row amid the round.
  private struct DeletionVanished: Error {}

  private func step(
    _ deletion: Deletion, _ body: () async throws -> Deletion?
  ) async throws -> DeletionSaga.Outcome {
    guard let row = try await body() else { throw DeletionVanished() }
    return .done(row)
  }

  // MARK: In the background

  /// Carries out what is due, and leaves to the job what fails.
  private func goOn() async {
    do { try await resume() } catch { report(error) }
  }

  private func goOn(_ operation: OperationID) async {
    do {
      guard let deletion = try await store.deletion(.operation(operation)), deletion.isUnfinished else {
        return
      }
      _ = try await carryOut(deletion)
    } catch {
      report(error)
    }
  }

  private func report(_ error: any Error) {
    guard !(error is CancellationError) else { return }
    metrics.alarms[Metrics.Alarm.storage].add()
    log.error("account_deletion_interrupted", [("error", .string("\(error)"))])
  }

  private func note(_ outcome: String, _ deletion: Deletion) {
    note(outcome, deletion.user, deletion.failure)
  }

  private func note(_ outcome: String, _ user: UUID, _ failure: String? = nil) {
    metrics.deletions[outcome].add()
    var members: [(String, JSONValue)] = [
      ("user", .string(user.description)), ("outcome", .string(outcome)),
    ]
    if let failure { members.append(("failure", .string(failure))) }
    log.info("account_deletion", members)
  }
}
