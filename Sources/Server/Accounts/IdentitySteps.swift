import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages

/// What is done with a verified identity: one step of the store, and its answer.
struct IdentitySteps: Sendable {
  /// Milliseconds that a switch ticket holds.
  static let ticketLife: Int64 = 600_000

  let service: AccountService

  /// Signs in, links or re-authenticates, and answers with the session; throws a ``Failure``.
  ///
  /// - Parameters:
  ///   - linkingTo: the session whose user the identity is to be linked to.
  ///   - reauthenticating: the session whose `auth_time` is to be renewed.
  ///   - bearer: the user of that session, where it is known.
  ///   - stored: called where the identity is in the database, be it another user's, or was until just now: with its
  ///     user, as far as known.
  func answer(
    _ assertion: IdentityAssertion, linkingTo: UUID? = nil, reauthenticating: UUID? = nil,
    bearer: UUID? = nil,
    keyID: [UInt8]?, origin: RequestOrigin, stored: (UUID?) async -> Void
  ) async throws -> HTTPResponse {
    let auth = service.auth
    let now = service.environment.now()
    let signIn = IdentitySignIn(
      assertion, user: try service.identifier(), identity: try service.identifier(),
      session: try service.identifier(),
      policy: SignInPolicy(
        allowsSignUp: auth.signUps, matchesVerifiedEmail: auth.emailMatching,
        identitiesPerTeam: auth.apple?.identitiesPerUser ?? 1),
      keyID: keyID, origin: origin, now: now)
    let ticket = Base64.encodeURL(service.environment.random(32))
    let expiry = now + Self.ticketLife
    let store = service.ports.store
    var judge: ((OpenSession) async throws -> Void)?
    if linkingTo == nil, reauthenticating == nil, service.hooks.concernsNewcomers {
      // Whoever is known is not asked about.
      judge = { open in
        guard open.user.id == signIn.user else { return }
        try await service.hooks.judge(open.user, address: origin.address)
      }
    }
    func step(_ expectation: StepExpectation) async throws -> Result<OpenSession, SignInRefusal> {
      var expected = signIn
      expected.expectation = expectation
      if let linkingTo {
        return try await store.link(
          IdentityLink(
            expected, bearer: linkingTo, ticketHash: SHA256.hash(ticket), ticketExpiresAt: expiry,
            maxAge: auth.stepUpMaximumAge))
      }
      if let reauthenticating { return try await store.reauthenticate(expected, bearer: reauthenticating) }
      return try await store.signIn(expected)
    }
    let (result, custom) = try await service.hooked(method: "oauth", now: now, judge: judge, step)
    switch result {
    case .success(let open):
      await stored(open.user.id)
      return try await service.answer(open, now: now, custom: custom)
    case .failure(let refusal):
      guard refusal == .linkedToAnotherUser else {
        // The account goes, or went, while Apple was asked: this consent is to end with the others.
        if refusal == .deleting || refusal == .sessionNotFound { await stored(bearer) }
        throw Failure.refused(refusal)
      }
      await stored(nil)
      throw Failure.refused(
        refusal,
        ticket: [
          Failure.Member("switch_ticket", .string(ticket)),
          Failure.Member("switch_ticket_expires_at", .integer(expiry / 1000)),
        ])
    }
  }
}
