import Accounts
import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// What every registration of a key goes through, whichever flow it comes by.
struct KeyRegistrar: Sendable {
  let environment: Environment
  let keys: KeyCache
  let check: RegistrationCheck
  let deviceChecker: DeviceChecker?
  let admitter: Admitter
  let metrics: Metrics
  let log: ApplicationLog

  /// What is to be said of an attestation.
  func verdict(by judge: @escaping @Sendable (RegistrationCheck) -> RegistrationVerdict) async
    -> RegistrationVerdict
  {
    let check = check
    return await environment.offload { judge(check) }
  }

  /// The key that an attestation proves, and its receipt; throws the ``Failure`` that it is refused with, and notes it.
  func accepted(
    _ verdict: RegistrationVerdict, of keyID: [UInt8], _ exchange: Exchange
  ) async throws -> (key: DeviceKey, receipt: [UInt8]) {
    switch verdict {
    case .verified(let key, let receipt): return (key, receipt)
    case .refused(let failure):
      await note(failure, of: keyID, exchange)
      throw failure
    }
  }

  /// Counts the registration of a key that is not known, and keeps it by `step`. One that comes again, since its
  /// answer was lost, costs nothing.
  ///
  /// - Parameter deviceToken: a fresh token of DeviceCheck, where the app sends one.
  func register(
    _ key: DeviceKey, deviceToken: String?, _ exchange: inout Exchange,
    by step: () async throws -> RegistrationOutcome
  ) async throws -> RegistrationOutcome {
    exchange.keyName = Hex.encode(key.keyID.prefix(6))
    try await count(key, &exchange)
    let outcome: RegistrationOutcome
    do {
      outcome = try await step()
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
    if outcome == .created { tell(key, deviceToken: deviceToken, exchange) }
    return outcome
  }

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

  private func tell(_ key: DeviceKey, deviceToken: String?, _ exchange: Exchange) {
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
}
