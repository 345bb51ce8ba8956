import Accounts
import Admission
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /functions/v1/quota`: what is left, for the app to show. Whoever may call a function may ask: with an
/// assertion, a session token or a debug token for the device and its user; with an access token alone for the user.
/// It costs burst alone.
struct FunctionQuotaRoute: Endpoint {
  static let template = "/functions/v1/quota"

  let method = HTTPMethod.get
  let path = Self.template
  let gate: ProviderGate

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let plan = gate.admitter.plan
    let now = exchange.startedAt
    let keyID: [UInt8]
    let charges: [Charge]
    if case .none = try PresentedEvidence(request.fields) {
      guard let bearers = gate.bearers, BearerCheck.token(request) != nil else {
        throw Failure.attestationRequired
      }
      let user = try await bearers.require(request, now: now).user
      keyID = []
      charges = plan.standings(
        user: KeyUser(
          id: user.id.description, person: try await bearers.persons.name(of: user), changes: []), now: now)
    } else {
      let caller = try await gate.caller(
        of: request, route: path, policy: .session, bodyLimit: 1024, &exchange)
      let admitted = try await gate.admitter.admit(
        .refused, caller.verified, &exchange, lease: nil, user: caller.user)
      keyID = admitted.keyID ?? []
      charges = plan.standings(
        evidence: caller.verified.evidence, address: exchange.address, now: now
      ).map { charge in
        // A debug token is no key, and the question knows it by its name alone.
        guard let name = caller.verified.debugToken, charge.subject == .key else { return charge }
        var charge = charge
        charge.subject = .line(.named(.debugToken, name))
        return charge
      }
    }
    let remaining = try await storage {
      try await gate.environment.ledger.remaining(keyID: keyID, charges: charges, now: now)
    }
    return .json(plan.answer(remaining).json)
  }
}
