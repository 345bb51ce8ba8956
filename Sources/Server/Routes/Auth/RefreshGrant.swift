import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `grant_type=refresh_token` (RULES §3.4, §3.5, §3.8). Whatever passes is 503, never 409, 429 or 500, on which
/// clients throw the session away.
struct RefreshGrant: Sendable {
  let service: AccountService
  /// By session and address: who holds an old token of a session must not keep its owner from refreshing.
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    do {
      return try await refresh(request, &exchange)
    } catch let error as CancellationError {
      throw error
    } catch let failure as Failure {
      guard failure.status == 429 || failure.status == 409 || failure.status == 500 else { throw failure }
      var passing = Failure(
        503, .unavailable, "The session cannot be refreshed now", fields: failure.fields,
        diagnosis: failure.diagnosis ?? failure.code.rawValue)
      if passing.fields["retry-after"] == nil { passing.fields["retry-after"] = "1" }
      throw passing
    } catch HTTPBodyError.timedOut {
      throw Failure(
        503, .unavailable, "The body came too slowly.", fields: ["retry-after": "1", "connection": "close"])
    } catch let error as HTTPBodyError {
      throw error
    } catch {
      throw Failure.storage(error)
    }
  }

  private func refresh(_ request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request)
    guard let text = try body.text("refresh_token") else {
      throw Failure.validation("Refresh token is not valid")
    }
    guard let token = try await service.refreshSecrets.read(text, now: service.environment.now()) else {
      // One of another server, or whose secret is gone: nothing will make it good.
      throw text.utf8.count == RefreshTokens.length
        ? Failure.refused(.notFound) : Failure.validation("Refresh token is not valid")
    }
    let asker = "\(token.session) \(exchange.address)"
    if let wait = await limiter.admit(asker, now: service.environment.uptime()) {
      throw Failure.busy(nanoseconds: wait)
    }
    let keyID = try await service.evidence.keyID(request, body: body.octets, &exchange)
    let now = service.environment.now()
    let refresh = Refresh(
      session: token.session, counter: token.counter, keyID: keyID, binding: service.auth.bindRefresh,
      policy: service.policy, origin: exchange.origin(), now: now)
    // Whoever is refused is not asked about: a hook that is down keeps no token that is used twice from being noticed.
    let (outcome, custom) = try await service.hooked(method: "token_refresh", now: now) { expectation in
      var refresh = refresh
      refresh.expectation = expectation
      return try await service.ports.store.refresh(refresh)
    }
    switch outcome {
    case .refreshed(let open):
      return try await service.answer(open, now: now, method: "token_refresh", custom: custom)
    case .refused(let refusal):
      if case .reused(let ended) = refusal {
        service.metrics.refreshReuses.add()
        service.log.info(
          "refresh_token_reused",
          [
            ("session", .string(token.session.description)), ("ended", .bool(ended)),
            ("request_id", .string(exchange.requestID)),
          ])
      }
      throw Failure.refused(refusal)
    }
  }
}

extension Failure {
  /// Why a refresh is refused, in the words of Supabase Auth.
  static func refused(_ refusal: RefreshRefusal) -> Failure {
    let lead = "Invalid Refresh Token: "
    switch refusal {
    case .notFound: return Failure(400, .refreshTokenNotFound, lead + "Refresh Token Not Found")
    case .reused: return Failure(400, .refreshTokenAlreadyUsed, lead + "Already Used")
    case .expired: return Failure(400, .sessionExpired, lead + "Session Expired")
    case .inactive: return Failure(400, .sessionExpired, lead + "Session Expired (Inactivity)")
    case .banned: return Failure(400, .userBanned, lead + "User Banned")
    case .deleting: return .deletionInProgress
    case .attestationRequired: return .attestationRequired
    case .changed: return .changing
    }
  }
}
