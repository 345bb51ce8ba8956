import Accounts
import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /attest/v1/keys`: registers a key by its attestation.
struct KeysRoute: Endpoint {
  /// An attestation of 16 KiB, a token of DeviceCheck and the rest in base64.
  static let bodyLimit = 32_768

  let method = HTTPMethod.post
  let path = AttestTargets.keys
  let environment: Environment
  let challenges: ChallengeKeys
  let keys: KeyCache
  let check: RegistrationCheck
  let limiter: AddressLimiter
  let deviceChecker: DeviceChecker?
  let admitter: Admitter
  let metrics: Metrics
  let log: ApplicationLog

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    guard let registration = Registration(body: body), registration.keyID.count == 32 else {
      throw Failure.invalidRequest("The body has key_id (32 octets), attestation and challenge, in base64.")
    }
    let now = exchange.startedAt
    let challenge = try await challenges.verify(registration.challenge, .registration, now: now)
    // Only what has a challenge of ours counts, so that nobody is locked out by a stranger behind his address
    // who sends nonsense.
    if let wait = await limiter.admit(exchange.address, now: environment.uptime()) {
      throw Failure.addressLimited(seconds: (wait + 999_999_999) / 1_000_000_000)
    }
    let check = check
    let verdict = await environment.offload {
      check.verdict(registration, challenge: challenge, now: now / 1000)
    }
    switch verdict {
    case .refused(let failure):
      await note(failure, of: registration.keyID, exchange)
      throw failure
    case .verified(let key, let receipt):
      return try await register(key, receipt, challenge, registration.deviceToken, &exchange)
    }
  }

  /// Counts the registration of a key that is not known. One that comes again, since its answer was lost, costs
  /// nothing.
  private func count(_ key: DeviceKey, _ exchange: inout Exchange) async throws {
    let now = environment.now()
    let charges = admitter.plan.registration(appID: key.appID, address: exchange.address, now: now)
    if charges.isEmpty { return }
    let known = try await storage { try await environment.keys.key(key.keyID) }
    if known != nil { return }
    let unproven = VerifiedEvidence(.none)
    let request = admitter.request(unproven, exchange, now: now, charges: charges, lease: nil)
    _ = try await admitter.judged(unproven, &exchange) { try await environment.ledger.admit(request) }
  }

  /// The refusal stands also where nobody can write it down.
  private func note(_ failure: Failure, of keyID: [UInt8], _ exchange: Exchange) async {
    do {
      try await environment.keys.refused(
        keyID, reason: failure.code.rawValue, from: exchange.origin().address, now: environment.now())
    } catch {
      guard !(error is CancellationError) else { return }
      metrics.alarms[Metrics.Alarm.storage].add()
      log.error("refusal_not_noted", [("error", .string("\(error)"))])
    }
  }

  private func register(
    _ key: DeviceKey, _ receipt: [UInt8], _ challenge: Challenge, _ deviceToken: String?,
    _ exchange: inout Exchange
  ) async throws -> HTTPResponse {
    exchange.keyName = Hex.encode(key.keyID.prefix(6))
    try await count(key, &exchange)
    let outcome: RegistrationOutcome
    do {
      outcome = try await environment.keys.register(
        key, receipt: receipt, challenge: challenge.random, challengeExpiry: challenge.expiry,
        from: exchange.origin().address)
    } catch let error as CancellationError {
      throw error
    } catch {
      metrics.alarms[Metrics.Alarm.storage].add()
      throw Failure.storage(error)
    }
    switch outcome {
    case .challengeUsed: throw Failure.challengeUsed
    case .conflict: throw Failure.keyConflict
    case .revoked: throw Failure.keyRevoked
    case .created, .alreadyRegistered: break
    }
    await keys.forget(key.keyID)
    if outcome == .created {
      log.info(
        "key_registered",
        [
          ("request_id", .string(exchange.requestID)), ("key", .string(Hex.encode(key.keyID.prefix(6)))),
          ("app", .string(key.appID)), ("environment", .string(key.environment.rawValue)),
          ("os", .string(key.facts.osVersion ?? "")), ("address", .string(exchange.address)),
        ])
      if let deviceChecker, let deviceToken {
        environment.background { await deviceChecker.check(key, token: deviceToken) }
      }
    }
    let next = try await challenges.mint(.request, now: exchange.startedAt)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    return .json(
      RegistrationAnswer(keyID: key.keyID).json, status: outcome == .created ? 201 : 200)
  }
}
