import Accounts
import Cryptography
import Encodings
import Foundation
import SQL
import Stores
import System

extension Benchmarks {
  /// Refreshes a second on one core, durably on SQLite's file, against that core's P-256 signatures.
  static func refreshes() throws {
    print(
      "== refreshes a second on one core, 64 at once, without HTTP; the limit is that core's ES256 signatures"
    )
    try onOneCore("refreshing")
  }

  /// What the process on that core does.
  static func refreshing(_ directory: String) async throws {
    let key = try P256.PrivateKey()
    let tokens = RefreshTokens(secrets: [RefreshSecret(id: 1, secret: Cryptography.SecureRandom.bytes(32))])
    for (users, isLinked) in [(1_000, false), (1_000, true), (30_000, true)] {
      let path = "\(directory)/\(users)-\(isLinked).sqlite"
      let database = try Database(.file(path))
      try await Schema.migrate(database, now: WallClock.seconds)
      let work = RefreshWork(store: SQLAccountStore(database), tokens: tokens, key: key)
      let sessions = try await work.open(users, isLinked: isLinked)
      let limit = try work.signatures(for: 1)
      let cryptography = try work.withoutStore(sessions[0], for: 1)
      var held = (0..<64).map { client in
        stride(from: client, to: sessions.count, by: 64).map {
          RefreshToken(session: sessions[$0].session.id, counter: 0)
        }
      }
      _ = try await work.rate(&held, rounds: 40)
      let rate = try await work.rate(&held, rounds: 800)
      let after = try work.signatures(for: 1)
      database.close()
      let signatures = (limit + after) / 2
      print(
        "\(users) \(isLinked ? "users with an Apple identity" : "anonymous users"): \(format(rate, 0))/s, "
          + "limit \(format(signatures, 0))/s, ratio \(format(rate / signatures)); "
          + "with its tokens made but nothing stored \(format(cryptography, 0))/s")
    }
  }
}

/// A server's work on refreshes.
private struct RefreshWork: Sendable {
  let store: SQLAccountStore
  let tokens: RefreshTokens
  let key: P256.PrivateKey

  private static func id() throws -> Encodings.UUID {
    guard let id = Encodings.UUID(random: Cryptography.SecureRandom.bytes(16)) else {
      throw BenchmarkError("random octets")
    }
    return id
  }

  func open(_ users: Int, isLinked: Bool) async throws -> [OpenSession] {
    let now = WallClock.milliseconds
    var sessions: [OpenSession] = []
    while sessions.count < users {
      let first = sessions.count
      try await withThrowingTaskGroup(of: OpenSession.self) { group in
        for number in first..<min(first + 512, users) {
          group.addTask {
            let (user, session) = (try Self.id(), try Self.id())
            guard isLinked else {
              return try await store.signUp(
                AnonymousSignUp(user: user, session: session, userMetadata: [:], now: now))
            }
            let assertion = IdentityAssertion(
              teamID: "TEAM000001", subject: "\(number).sub", clientID: "c",
              issuer: "https://appleid.apple.com", issuedAt: now, expiresAt: now + 600_000,
              email: "\(number)@example.com", isEmailVerified: true,
              tokenHash: Cryptography.SecureRandom.bytes(32), requestHash: Cryptography.SecureRandom.bytes(32)
            )
            let signIn = IdentitySignIn(
              assertion, user: user, identity: try Self.id(), session: session, policy: SignInPolicy(),
              now: now)
            return try await store.signIn(signIn).get()
          }
        }
        for try await session in group { sessions.append(session) }
      }
    }
    return sessions
  }

  /// Refreshes a second, 64 clients at once, each going through the sessions of its own, whose tokens it keeps.
  func rate(_ held: inout [[RefreshToken]], rounds: Int) async throws -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    held = try await withThrowingTaskGroup(of: [RefreshToken].self) { group in
      for own in held {
        group.addTask {
          var own = own
          for round in 0..<rounds { own[round % own.count] = try await refresh(own[round % own.count]) }
          return own
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    return Double(held.count * rounds) / (Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
  }

  private func refresh(_ held: RefreshToken) async throws -> RefreshToken {
    let now = WallClock.milliseconds
    guard let text = tokens.text(of: held), let token = tokens.read(text) else {
      throw BenchmarkError("no token")
    }
    let outcome = try await store.refresh(
      Refresh(
        session: token.session, counter: token.counter, binding: .prefer, policy: SessionPolicy(), now: now))
    guard case .refreshed(let open) = outcome else { throw BenchmarkError("\(outcome)") }
    try answer(open, now: now)
    return RefreshToken(session: open.session.id, counter: open.session.counter)
  }

  private func answer(_ open: OpenSession, now: Int64) throws {
    let claims = AccessTokenClaims(issuer: "https://bench.example/auth/v1", open, lifetime: 3_600, now: now)
    guard tokens.current(of: open.session) != nil, claims.fits else { throw BenchmarkError("no token") }
    _ = try ES256.sign(claims.json, kid: "bench", key: key)
  }

  /// The two tokens of an answer, and the reading of one, a second.
  func withoutStore(_ open: OpenSession, for seconds: Double) throws -> Double {
    guard let text = tokens.current(of: open.session) else { throw BenchmarkError("no token") }
    return try Benchmarks.perSecond(seconds) {
      _ = tokens.read(text)
      try answer(open, now: WallClock.milliseconds)
    }
  }

  func signatures(for seconds: Double) throws -> Double {
    let message = [UInt8](repeating: 7, count: 700)
    return try Benchmarks.perSecond(seconds) { _ = try ES256.signature(for: message, key: key) }
  }
}
