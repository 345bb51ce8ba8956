import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages

/// `POST /auth/v1/switch` {`switch_ticket`}: goes over to the account that an identity turned out to
/// belong to (RULES §3.7). The bearer is of the session that the ticket is bound to.
struct SwitchRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.switchAccount
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    // A repeat may come when the session it was sent with is gone already: the store decides about that.
    let bearer = try await service.bearers.sessionID(request, now: exchange.startedAt)
    let body = try await AccountBody(of: request)
    guard let ticket = try body.text("switch_ticket") else {
      throw Failure.validation("switch_ticket is missing")
    }
    // Before the ticket is used: what becomes of the user who is left is not for their own session to say.
    guard body["leaving"] == nil else {
      throw Failure.validation(
        "leaving is said by the session that the ticket opens: POST \(AccountTargets.leaving)")
    }
    let keyID = try await service.evidence.keyID(request, body: body.octets, &exchange)
    let now = service.environment.now()
    let change = AccountSwitch(
      ticketHash: SHA256.hash(ticket), bearer: bearer, session: try service.identifier(), keyID: keyID,
      origin: exchange.origin(), now: now)
    let (outcome, custom) = try await service.hooked(method: "oauth", now: now) { expectation in
      var change = change
      change.expectation = expectation
      return try await service.ports.store.switch(change)
    }
    switch outcome {
    case .success(let open):
      return try await service.answer(open, now: now, custom: custom)
    case .failure(.tokenUsed), .failure(.challengeInvalid):
      throw Failure(
        400, .switchTicketInvalid, "The switch ticket is unknown, used, over, or another session's")
    case .failure(let refusal): throw Failure.refused(refusal)
    }
  }
}
