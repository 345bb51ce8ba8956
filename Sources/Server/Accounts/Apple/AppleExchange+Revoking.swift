import Accounts
import Encodings
import HTTPMessages
import SignInWithApple

extension AppleExchange {
  /// What came of asking Apple to end a consent.
  enum Revocation: Sendable, Equatable {
    case revoked
    /// Nothing opens the token any more, or this server has no key for Apple.
    case unusable
    case failed(AppleRefusal)
  }

  /// Ends the consent that the token stands for, by the client that it was issued to. Apple answers 200 also for one
  /// that had ended.
  func revoke(_ token: SealedAppleToken) async throws -> Revocation {
    guard let key, let text = open(token) else { return .unusable }
    // Noted first: Apple may tell of it before it answers (RULES §2.4).
    try await ports.appleEvents.revoking(
      teamID: token.teamID, subject: token.subject, now: environment.now())
    do {
      let secret = try key.clientSecret(for: token.clientID, now: environment.now() / 1000)
      let (response, body) = try await ask(requests.revoke(text, kind: .refreshToken, secret: secret))
      try AppleAnswer.revocation(status: response.status, fields: response.fields, body: body)
      return .revoked
    } catch AppleRefusal.invalidGrant {
      return .revoked
    } catch let refusal as AppleRefusal {
      report(refusal, "apple_consent_not_ended")
      if refusal != .noAnswer(mayHaveArrived: true) {
        try await ports.appleEvents.notRevoked(teamID: token.teamID, subject: token.subject)
      }
      return .failed(refusal)
    } catch let error as CancellationError {
      throw error
    } catch {
      report(error, "apple_consent_not_ended")
      return .failed(.noAnswer(mayHaveArrived: true))
    }
  }

  /// What a code is exchanged for that came without an identity token, to end the consent that it stands for: sealed,
  /// under the account that Apple names; nil where this server has no key for Apple.
  ///
  /// Throws an `AppleRefusal`, or a ``Failure`` where Apple's answer cannot be verified.
  func exchangeToEnd(code: String, clientID: String) async throws -> SealedAppleToken? {
    guard let key else { return nil }
    let tokens: AppleTokens
    do {
      let secret = try key.clientSecret(for: clientID, now: environment.now() / 1000)
      let (response, body) = try await ask(requests.exchange(code: code, secret: secret))
      tokens = try AppleAnswer.tokens(status: response.status, fields: response.fields, body: body)
    } catch let refusal as AppleRefusal {
      report(refusal, "apple_code_not_exchanged")
      throw refusal
    }
    guard let text = tokens.idToken, let refreshToken = tokens.refreshToken else {
      throw AppleRefusal.retryable(status: 200, retryAfter: nil)
    }
    do {
      let token = try AppleToken(parsing: text)
      let identity = try verifier.verifyExchanged(
        token, key: try await keys.key(token.kid), clientID: clientID, now: environment.now() / 1000)
      return try seal(refreshToken, of: identity)
    } catch let error as AppleTokenError {
      log.error("apple_code_of_another", [("error", .string(error.description))])
      throw Failure.identityToken(error)
    }
  }
}
