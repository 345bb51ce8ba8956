import Admission
import AppAttest
import Encodings
import HTTPMessages

/// `POST /ai/anthropic/v1/oauth/token`: an assertion buys a session token.
struct AnthropicTokenRoute: Endpoint {
  /// An assertion of 4 KiB in base64, whose every octet may be written as three.
  static let bodyLimit = 20_480
  static let grantType = "urn:anthropic:params:oauth:grant-type:app-attest"

  let method = HTTPMethod.post
  let path = AnthropicAttest.token
  let flow: AnthropicAttest
  let keys: KeyCache
  let apps: [String: AcceptedApp]
  let admitter: Admitter
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    let form = try Self.form(body)
    guard form["grant_type"] == Self.grantType else {
      throw Failure.invalidRequest("grant_type is \(Self.grantType).")
    }
    let (client, keyID) = try flow.caller(form["client_id"], form["key_id"])
    guard let assertion = form["assertion"].flatMap(Base64.decode) else { throw Failure.invalidAssertion }
    // No challenge comes along that would show a fetch which was limited.
    try await limiter.require(exchange.address, now: flow.environment.uptime())
    let parsed = try await keys.key(keyID)
    guard parsed.key.appID == client.appID, let app = apps[client.appID] else { throw Failure.appMismatch }
    let mints = try await flow.minted(keyID)
    let counter = try await counter(of: assertion, client, parsed, app, mints: mints, exchange)
    let verified = VerifiedEvidence(
      .assertion(keyID: keyID, counter: counter, challenge: .mint(mints)), key: parsed.key)
    let token = flow.token()
    let now = flow.environment.now()
    let charges = admitter.plan.charges(
      .refused, evidence: verified.evidence, address: exchange.address, now: now)
    let admission = admitter.request(verified, exchange, now: now, charges: charges, lease: nil)
    let ledger = flow.environment.ledger
    _ = try await admitter.judged(verified, &exchange) {
      try await ledger.issueSession(admission, token: token.row, atMost: TokenRoute.atMost)
    }
    return try await flow.answer(token.text, client, keyID, mints: mints + 1)
  }

  /// The counter of an assertion over one of the challenges that hold. Throws a ``Failure``.
  private func counter(
    of assertion: [UInt8], _ client: AnthropicClient, _ parsed: ParsedKey, _ app: AcceptedApp, mints: Int64,
    _ exchange: Exchange
  ) async throws -> UInt32 {
    let keyID = parsed.key.keyID
    let found = try await flow.found(client, keyID, mints: mints, now: exchange.startedAt) { challenges in
      for challenge in challenges {
        do throws(AssertionError) {
          return try Assertion.verify(
            assertion, clientDataHash: client.tokenHash(challenge, keyID: keyID), key: parsed.publicKey,
            app: app
          ).counter
        } catch {
          if let failure = Failure.of(error) { throw failure }
        }
      }
      return nil
    }
    guard let found else { throw Failure.badSignature }
    return found
  }

  /// The form, in which each name stands once.
  private static func form(_ body: [UInt8]) throws(Failure) -> FormParameters {
    guard let text = String(validating: body, as: UTF8.self), let form = FormParameters(parsing: text),
      Set(form.parameters.map(\.name)).count == form.parameters.count
    else { throw .invalidRequest("The body is a form, in which each name stands once.") }
    return form
  }
}
