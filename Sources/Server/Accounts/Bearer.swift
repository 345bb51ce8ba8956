import Accounts
import Admission
import Encodings
import HTTPMessages

/// Whoever sent an access token that holds, and whose session and user live (asked of the database each time, so
/// that a ban, a deletion and signing out act at once).
struct Bearer: Sendable {
  let open: OpenSession

  var user: User { open.user }
  var session: Session { open.session }

  /// Throws unless the user proved themself no longer than `maximumAge` seconds ago (RULES §3.2). An anonymous
  /// user has nothing to prove it with.
  func requireFresh(maximumAge: Int64, now: Int64) throws(Failure) {
    guard !user.identities.isEmpty, !session.isFresh(maxAge: maximumAge, now: now) else { return }
    throw .stepUp(maximumAge: maximumAge)
  }
}

/// Checks access tokens on Bramley's own routes.
struct BearerCheck: Sendable {
  let issuer: String
  let keys: SigningKeys
  let store: any AccountStore
  let persons: Persons

  /// The bearer of the request's access token. `now` in milliseconds. Throws a ``Failure``.
  func require(_ request: HTTPRequest, now: Int64) async throws -> Bearer {
    guard let token = Self.token(request) else { throw Failure.noAuthorization }
    return try await bearer(token, now: now)
  }

  /// The user of an access token beside an assertion, which signs it as well, or on a route that asks for no proof;
  /// nil where there is none. One that does not hold is refused: it is never as good as none.
  func user(
    of request: HTTPRequest, _ verified: VerifiedEvidence, _ plan: ChargePlan, now: Int64
  ) async throws -> KeyUser? {
    switch verified.evidence {
    case .assertion, .none: break
    case .session, .debugToken: return nil
    }
    guard let token = Self.token(request), token.hasPrefix("eyJ") else { return nil }
    let open = try await bearer(token, now: now).open
    return plan.user(
      open.user.id.description, person: try await persons.name(of: open.user),
      session: open.session.id.octets,
      now: now)
  }

  /// The token of an Authorization field; nil where there is none, more than one, or another scheme.
  static func token(_ request: HTTPRequest) -> String? {
    let values = request.fields.values("authorization")
    guard values.count == 1, let value = values.first, let blank = value.firstIndex(of: " "),
      HTTPFields.same(String(value[..<blank]), "bearer")
    else { return nil }
    let token = value[blank...].drop { $0 == " " }
    return token.isEmpty ? nil : String(token)
  }

  /// The session that the request's access token is of, whether it lives or not. Throws a ``Failure``.
  func sessionID(_ request: HTTPRequest, now: Int64) async throws -> UUID {
    guard let token = Self.token(request) else { throw Failure.noAuthorization }
    return try await ids(token, now: now).session
  }

  /// Whose access token it was, though it may be over and its session and user gone: who asks may learn what became
  /// of a deletion, and nothing else (RULES §4.2).
  struct Claim: Sendable {
    let user: UUID
  }

  /// The claim of the request's access token, whose signature holds. Throws a ``Failure``.
  func claim(_ request: HTTPRequest, now: Int64) async throws -> Claim {
    guard let token = Self.token(request) else { throw Failure.noAuthorization }
    return Claim(user: try await ids(token, now: now, isExpiryOfInterest: false).user)
  }

  private func bearer(_ token: String, now: Int64) async throws -> Bearer {
    let (user, session) = try await ids(token, now: now)
    let open = try await storage { try await store.session(session, now: now) }
    guard let open, open.user.id == user else { throw Failure.sessionNotFound }
    if open.user.deletingSince != nil { throw Failure.deletionInProgress }
    if open.user.isBanned(at: now) { throw Failure.userBanned }
    return Bearer(open: open)
  }

  private func ids(
    _ token: String, now: Int64, isExpiryOfInterest: Bool = true
  ) async throws -> (user: UUID, session: UUID) {
    let claims = try await keys.verify(token, now: now)
    guard claims["iss"]?.string == issuer, claims["aud"]?.string == "authenticated" else {
      throw Failure.badJWT("issuer or audience")
    }
    guard let expiry = claims["exp"]?.integer, now / 1000 < expiry || !isExpiryOfInterest else {
      throw Failure.badJWT("expired")
    }
    guard let user = claims["sub"]?.string.flatMap({ UUID($0) }),
      let session = claims["session_id"]?.string.flatMap({ UUID($0) })
    else { throw Failure.badJWT("sub or session_id") }
    return (user, session)
  }
}

/// Runs a step of the database; whatever it throws is told as one ``Failure``.
func storage<Value>(_ step: () async throws -> Value) async throws -> Value {
  do {
    return try await step()
  } catch let error as CancellationError {
    throw error
  } catch let failure as Failure {
    throw failure
  } catch {
    throw Failure.storage(error)
  }
}
