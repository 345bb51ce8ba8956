import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /auth/v1/signup`: an account without an identity, the silent first launch. The Authorization field is
/// not looked at: clients send their publishable key there.
struct SignUpRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.signUp
  let service: AccountService
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request)
    guard service.auth.signUps else { throw Failure.signUpDisabled }
    if try body.text("email") != nil { throw Failure.emailSignUpsDisabled }
    if try body.text("phone") != nil { throw Failure.phoneSignUpsDisabled }
    guard service.auth.anonymous else { throw Failure.anonymousDisabled }
    let metadata = Metadata.object(try body.object("data") ?? .object([]))
    guard Metadata.fits(metadata) else { throw Failure.metadataTooLarge(limit: Metadata.limit) }
    if let wait = await limiter.admit(exchange.address, now: service.environment.uptime()) {
      throw Failure.overRequestRateLimit(nanoseconds: wait)
    }
    let keyID = try await service.evidence.keyID(request, body: body.octets, &exchange)
    let now = service.environment.now()
    let newcomer = AnonymousSignUp(
      user: try service.identifier(), session: try service.identifier(), userMetadata: metadata,
      keyID: keyID, origin: exchange.origin(), now: now)
    let expected = newcomer.newcomer
    try await service.hooks.judge(expected.user, address: exchange.address)
    let custom = try await service.customClaims(expected, method: "anonymous", now: now)
    let open = try await storage { try await service.ports.store.signUp(newcomer) }
    return try await service.answer(open, now: now, method: "anonymous", custom: custom)
  }
}
