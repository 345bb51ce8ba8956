import AppAttest
import Encodings

/// The secrets of challenges as the database has them, kept for a while: every node has the same.
actor ChallengeKeys {
  /// Milliseconds after which the secrets are read again, so that a rotation reaches every node.
  private static let refresh: Int64 = 60_000
  /// Milliseconds between two readings that unknown secrets cause: a stranger can make any number of those.
  private static let hurry: Int64 = 5_000

  private let keys: any DeviceKeyStore
  private let random: @Sendable (Int) -> [UInt8]
  private var authority: ChallengeAuthority?
  private var readAt: Int64 = 0

  init(_ environment: Environment) {
    keys = environment.keys
    random = environment.random
  }

  /// A fresh challenge. `now` in milliseconds. Throws a ``Failure`` when the database does not answer.
  func mint(_ purpose: ChallengePurpose, now: Int64) async throws -> Challenge {
    let authority = try await current(now)
    let random = random(Challenge.randomLength)
    guard let challenge = authority.mint(purpose: purpose, random: random, now: now / 1000) else {
      throw Failure.storage(ChallengeError.unknownSecret)
    }
    return challenge
  }

  /// The challenge that the text spells, if it holds for the purpose; throws a ``Failure``.
  func verify(_ text: String, _ purpose: ChallengePurpose, now: Int64) async throws -> Challenge {
    do {
      return try await current(now).verify(text, purpose: purpose, now: now / 1000)
    } catch let error as ChallengeError {
      if error == .unknownSecret, now - readAt >= Self.hurry || now < readAt {
        authority = nil
        do {
          return try await current(now).verify(text, purpose: purpose, now: now / 1000)
        } catch let error as ChallengeError {
          throw error == .expired ? Failure.challengeExpired : Failure.challengeInvalid
        }
      }
      throw error == .expired ? Failure.challengeExpired : Failure.challengeInvalid
    }
  }

  /// The challenge of Anthropic's flow, and for how many seconds it holds.
  func derived(
    _ client: AnthropicClient, _ keyID: [UInt8], mints: Int64, now: Int64
  ) async throws -> (challenge: [UInt8], expiresIn: Int64) {
    let derived = try await current(now).derived(
      clientID: client.id, keyID: keyID, mints: mints, now: now / 1000)
    guard let derived else { throw Failure.storage(ChallengeError.unknownSecret) }
    return derived
  }

  /// Every challenge of Anthropic's flow that may have been signed.
  ///
  /// - Parameter isSecondTry: those of the secrets that were read hold not: another node may have newer ones.
  func derivable(
    _ client: AnthropicClient, _ keyID: [UInt8], mints: Int64, now: Int64, isSecondTry: Bool
  ) async throws -> [[UInt8]] {
    if isSecondTry {
      guard now - readAt >= Self.hurry || now < readAt else { return [] }
      authority = nil
    }
    return try await current(now).derivable(
      clientID: client.id, keyID: keyID, mints: mints, now: now / 1000)
  }

  /// Makes a new secret current.
  func rotate() async throws {
    try await keys.rotateChallengeSecret(fresh: random(32))
    authority = nil
  }

  private func current(_ now: Int64) async throws -> ChallengeAuthority {
    // Also when the clock went back: better read once too often.
    if let authority, now >= readAt, now - readAt < Self.refresh { return authority }
    do {
      let made = ChallengeAuthority(secrets: try await keys.challengeSecrets(fresh: random(32)))
      authority = made
      readAt = now
      return made
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // What was read before holds still: a challenge gives freshness, and admission asks the database.
      if let authority { return authority }
      throw Failure.storage(error)
    }
  }
}
