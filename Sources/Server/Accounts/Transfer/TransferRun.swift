package import Accounts
import Encodings
package import HTTPMessages
package import SignInWithApple

/// Carries out one half of an app's move to another team, a user at a time. What was done is kept at once, so that it
/// can be broken off at any time and begun again; a user whom Apple refuses holds up no other.
package struct TransferRun: Sendable {
  /// Why the whole stops. What was done until then is kept.
  package enum Stop: Error, Equatable {
    /// Apple takes that, and the users are stuck for good.
    case ownTeam
    case noTeam
    /// More than 60 days after the acceptance.
    case tooLate
    /// Apple does not take the key, or the client.
    case configuration(String)
    /// Apple does not answer, or wants to be asked later.
    case unavailable(String)
  }

  /// How many users are asked about at once. Apple documents no limit.
  private static let width = 8
  private static let page: Int64 = 200
  /// Seconds after which another access token is fetched; one holds for an hour.
  private static let tokenLife: Int64 = 3_000

  private let apple: any HTTPHandler
  private let requests: AppleRequests
  private let key: AppleSigningKey
  private let clientID: String
  private let store: any TransferStore
  /// Milliseconds since 1970.
  private let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - key: of the team that asks: the source's for the export, the target's for the import.
  ///   - clientID: the app that moves.
  package init(
    apple: any HTTPHandler, service: AppleIDService, key: AppleSigningKey, clientID: String,
    store: any TransferStore, now: @escaping @Sendable () -> Int64
  ) {
    self.apple = apple
    requests = AppleRequests(service: service)
    self.key = key
    self.clientID = clientID
    self.store = store
    self.now = now
  }

  /// Asks Apple for the access token of the calls alone: whether the key and the client are taken.
  package func probe(_ transfer: AccountTransfer, _ step: TransferStep) async throws {
    try check(transfer, step)
    _ = try await token()
  }

  /// Does the step for every identity that waits for it; how many were asked about.
  ///
  /// - Parameters:
  ///   - again: also for those that were refused before.
  ///   - progress: how many are done.
  package func run(
    _ transfer: AccountTransfer, _ step: TransferStep, again: Bool = false,
    progress: @Sendable (Int64) -> Void = { _ in }
  ) async throws -> Int64 {
    try check(transfer, step)
    var (after, done) = (UUID?.none, Int64(0))
    var token = try await self.token()
    var fetched = now()
    while true {
      let users = try await store.waiting(transfer, step, again: again, after: after, limit: Self.page)
      guard let last = users.last else { return done }
      try check(transfer, step)
      if now() - fetched >= Self.tokenLife * 1000 || now() < fetched {
        (token, fetched) = (try await self.token(), now())
      }
      try await carryOut(users, transfer, step, token: token)
      after = last.identity
      done += Int64(users.count)
      progress(done)
    }
  }

  private func check(_ transfer: AccountTransfer, _ step: TransferStep) throws(Stop) {
    guard transfer.source.uppercased() != transfer.target.uppercased() else { throw .ownTeam }
    if let left = transfer.remaining(at: now()), left <= 0 { throw .tooLate }
  }

  private func carryOut(
    _ users: [TransferUser], _ transfer: AccountTransfer, _ step: TransferStep, token: String
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, user) in users.enumerated() {
        if index >= Self.width { try await group.next() }
        group.addTask {
          switch step {
          case .export: try await export(user, transfer, token)
          case .import: try await bring(user, transfer, token)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private func export(_ user: TransferUser, _ transfer: AccountTransfer, _ token: String) async throws {
    let secret = try key.clientSecret(for: clientID, now: now() / 1000)
    let request: HTTPRequest
    do {
      request = try requests.transferIdentifier(
        of: user.subject, to: transfer.target, secret: secret, accessToken: token)
    } catch .ownTeam {
      throw Stop.ownTeam
    } catch .noTeam {
      throw Stop.noTeam
    }
    let identifier = try await ask(request, about: user, transfer) {
      status, fields, body throws(AppleRefusal) in
      try AppleAnswer.transferIdentifier(status: status, fields: fields, body: body)
    }
    guard let identifier else { return }
    _ = try await store.exported(user.identity, as: identifier, transfer, now: now())
  }

  private func bring(_ user: TransferUser, _ transfer: AccountTransfer, _ token: String) async throws {
    guard let identifier = user.identifier else { return }
    let secret = try key.clientSecret(for: clientID, now: now() / 1000)
    let request = requests.transferredUser(identifier, secret: secret, accessToken: token)
    let arrived = try await ask(request, about: user, transfer) { status, fields, body throws(AppleRefusal) in
      try AppleAnswer.transferredUser(status: status, fields: fields, body: body)
    }
    guard let arrived else { return }
    let rekeying = Rekeying(
      identity: user.identity, subject: arrived.subject, email: arrived.email?.lowercased(),
      isPrivateEmail: arrived.isPrivateEmail)
    _ = try await store.rekey(rekeying, transfer, by: .command, now: now())
  }

  /// What Apple answers about a user; nil where it refuses this one, which is noted.
  private func ask<Answer>(
    _ request: HTTPRequest, about user: TransferUser, _ transfer: AccountTransfer,
    _ read: (Int, HTTPFields, [UInt8]) throws(AppleRefusal) -> Answer
  ) async throws -> Answer? {
    do {
      let (response, body) = try await send(request)
      return try read(response.status, response.fields, body)
    } catch let refusal as AppleRefusal {
      switch refusal {
      case .invalidGrant, .suspect:
        try await store.refused(user.identity, reason: refusal.description, transfer, now: now())
        return nil
      case .configuration: throw Stop.configuration(refusal.description)
      case .retryable, .noAnswer: throw Stop.unavailable(refusal.description)
      }
    }
  }

  private func token() async throws -> String {
    do {
      let secret = try key.clientSecret(for: clientID, now: now() / 1000)
      let (response, body) = try await send(requests.migrationToken(secret: secret))
      return try AppleAnswer.tokens(status: response.status, fields: response.fields, body: body).accessToken
    } catch let refusal as AppleRefusal {
      throw refusal.isRetryable
        ? Stop.unavailable(refusal.description) : Stop.configuration(refusal.description)
    }
  }

  private func send(_ request: HTTPRequest) async throws -> (HTTPResponse, [UInt8]) {
    do {
      let response = try await apple.respond(to: request)
      return (response, try await response.body.collect(upTo: AppleAnswer.maximumLength))
    } catch let error as HTTPClientError {
      throw AppleRefusal(error)
    }
  }
}
