import Accounts
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// Exchanges authorization codes at Apple and looks after the refresh tokens that come of it. No call of it
/// stands inside a transaction.
struct AppleExchange: Sendable {
  /// Milliseconds between two checks of a token, on average; Apple allows one a day.
  static let checkInterval: Int64 = 26 * 3_600_000
  private static let jitter: Int64 = 2 * 3_600_000

  let environment: Environment
  let ports: AccountEnvironment
  let sealer: Sealer
  /// nil where the operator configured none: then no code is exchanged.
  let key: AppleSigningKey?
  let verifier: IdentityTokenVerifier
  let keys: AppleKeys
  let metrics: Metrics
  let log: ApplicationLog

  var requests: AppleRequests { AppleRequests(service: ports.appleService) }

  /// The refresh token, sealed, that the code is exchanged for; nil where nothing came of it, which fails no
  /// sign-in. Throws a ``Failure`` alone where Apple's answer is about another account (RULES §2.2).
  func exchange(
    code: String, of identity: AppleIdentity, redirectURI: String?
  ) async throws -> SealedAppleToken? {
    guard let key else { return nil }
    let tokens: AppleTokens
    do {
      let secret = try key.clientSecret(for: identity.clientID, now: environment.now() / 1000)
      let request = try requests.exchange(
        code: code, of: identity, redirectURI: redirectURI, secret: secret)
      let (response, body) = try await ask(request)
      tokens = try AppleAnswer.tokens(status: response.status, fields: response.fields, body: body)
    } catch let error as CancellationError {
      throw error
    } catch {
      report(error, "apple_code_not_exchanged")
      return nil
    }
    guard let text = tokens.idToken, let refreshToken = tokens.refreshToken else { return nil }
    do {
      let second = try AppleToken(parsing: text)
      try verifier.verifyExchanged(
        second, key: try await keys.key(second.kid), for: identity, now: environment.now() / 1000)
    } catch AppleTokenError.unknownKey {
      return nil
    } catch let error as AppleTokenError {
      log.error("apple_code_of_another", [("error", .string(error.description))])
      throw Failure.identityToken(error)
    } catch is Failure {
      return nil
    }
    return try seal(refreshToken, of: identity)
  }

  /// Keeps what an exchange gave, where the identity is stored by now. Where its user is gone meanwhile, the consent is
  /// to be ended as those of the account were.
  ///
  /// - Parameter user: who signed in with it; nil where that is not known.
  func keep(_ token: SealedAppleToken?, of user: UUID?) async {
    guard let token else { return }
    do {
      switch try await ports.appleTokens.keep(token, of: user, now: environment.now()) {
      case .kept: break
      case .queued: log.info("apple_consent_to_be_ended", [])
      case .orphaned:
        // There is nothing that it could wait with, so it is tried once.
        environment.background { await end(token, of: user) }
      }
    } catch {
      reportNotKept(error)
    }
  }

  /// Ends the consent, unless the person has signed in again by now: then it is that account's (RULES §2.4).
  private func end(_ token: SealedAppleToken, of user: UUID?) async {
    do {
      switch try await ports.appleTokens.keep(token, of: user, now: environment.now()) {
      case .kept: log.info("apple_consent_superseded", [])
      case .queued: log.info("apple_consent_to_be_ended", [])
      case .orphaned: _ = try? await revoke(token)
      }
    } catch {
      reportNotKept(error)
    }
  }

  private func reportNotKept(_ error: any Error) {
    metrics.alarms[Metrics.Alarm.storage].add()
    log.error("apple_token_not_kept", [("error", .string("\(error)"))])
  }

  /// Asks Apple whether the tokens whose time has come still hold.
  func checkDue() async throws {
    guard let key else { return }
    let now = environment.now()
    let due = try await ports.appleTokens.due(now: now, retryAt: now + Self.checkInterval / 4, limit: 100)
    for token in due {
      try Task.checkCancellation()
      guard let verdict = try await verdict(of: token, key) else { continue }
      if verdict == .invalidGrant { log.info("apple_consent_gone", [("token", .integer(token.id))]) }
      try await ports.appleTokens.checked(
        token.id, verdict, nextCheck: nextCheck(), now: environment.now())
    }
  }

  /// Whether Apple honours one of the tokens; nil where it does not say.
  func consentHolds(_ tokens: [SealedAppleToken]) async throws -> Bool? {
    guard let key else { return false }
    var isKnown = true
    for token in tokens {
      switch try await verdict(of: token, key) {
      case .valid: return true
      case .unknown: isKnown = false
      // One that no key opens any more says nothing, today or later.
      case .invalidGrant, .invalidRequest, nil: break
      }
    }
    return isKnown ? false : nil
  }

  /// What Apple says of the token; nil where it cannot be opened.
  private func verdict(
    of token: SealedAppleToken, _ key: AppleSigningKey
  ) async throws -> AppleTokenVerdict? {
    guard let text = open(token) else { return nil }
    do {
      let secret = try key.clientSecret(for: token.clientID, now: environment.now() / 1000)
      let (response, body) = try await ask(requests.validate(refreshToken: text, secret: secret))
      _ = try AppleAnswer.tokens(status: response.status, fields: response.fields, body: body)
      return .valid
    } catch AppleRefusal.invalidGrant {
      return .invalidGrant
    } catch AppleRefusal.suspect {
      return .invalidRequest
    } catch let error as CancellationError {
      throw error
    } catch {
      report(error, "apple_token_not_checked")
      return .unknown
    }
  }

  /// Whatever the answer: the same token is asked about once a day at most.
  private func nextCheck() -> Int64 {
    let random = environment.random(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    return environment.now() + Self.checkInterval - Self.jitter + random % (2 * Self.jitter)
  }

  func ask(_ request: HTTPRequest) async throws -> (HTTPResponse, [UInt8]) {
    do {
      let response = try await ports.apple.respond(to: request)
      return (response, try await response.body.collect(upTo: AppleAnswer.maximumLength))
    } catch let error as HTTPClientError {
      throw AppleRefusal(error)
    }
  }

  func report(_ error: any Error, _ event: String) {
    if case AppleRefusal.configuration = error {
      metrics.alarms[Metrics.Alarm.appleConfiguration].add()
      log.error("apple_configuration", [("error", .string("\(error)"))])
    } else {
      log.info(event, [("error", .string("\(error)"))])
    }
  }

  func seal(_ text: String, of identity: AppleIdentity) throws -> SealedAppleToken {
    var token = SealedAppleToken(
      teamID: identity.teamID, subject: identity.subject, clientID: identity.clientID, sealingKey: "",
      sealed: Array(text.utf8), nextCheck: nextCheck())
    if let (name, sealed) = try sealer.seal(token.sealed, .appleToken, place: Self.place(token)) {
      token.sealingKey = name
      token.sealed = sealed
    }
    return token
  }

  /// The token's text; nil where its key is no longer configured.
  func open(_ token: SealedAppleToken) -> String? {
    if token.sealingKey.isEmpty { return String(decoding: token.sealed, as: UTF8.self) }
    guard
      let octets = try? sealer.open(
        token.sealed, key: token.sealingKey, .appleToken, place: Self.place(token))
    else {
      log.error("apple_token_not_opened", [("sealing_key", .string(token.sealingKey))])
      return nil
    }
    return String(decoding: octets, as: UTF8.self)
  }

  private static func place(_ token: SealedAppleToken) -> String {
    "\(token.teamID)/\(token.subject)/\(token.clientID)"
  }
}
