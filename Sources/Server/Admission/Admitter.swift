import Admission
import AppAttest
import Encodings
import Gateway
import HTTPMessages

/// Lets requests in: the one call of the ledger, and what is told of its outcome.
final class Admitter: Sendable {
  let environment: Environment
  let plan: ChargePlan
  let expectation: KeyExpectation
  let keys: KeyCache
  let owed: OwedSettlements
  let metrics: Metrics
  let log: ApplicationLog

  init(
    environment: Environment, plan: ChargePlan, expectation: KeyExpectation, keys: KeyCache,
    owed: OwedSettlements, metrics: Metrics, log: ApplicationLog
  ) {
    self.environment = environment
    self.plan = plan
    self.expectation = expectation
    self.keys = keys
    self.owed = owed
    self.metrics = metrics
    self.log = log
  }

  /// The request as the ledger judges it.
  ///
  /// - Parameter now: the instant of admission, milliseconds since 1970. Not when the request's head came: a
  ///   body that was sent slowly would be a clock that steps back, which the burst forgives (RULES §5.6).
  func request(
    _ verified: VerifiedEvidence, _ exchange: Exchange, now: Int64, charges: [Charge], lease: Int64?,
    model: ProviderModel? = nil, choices: [CallChoice] = [], user: KeyUser? = nil,
    unsettled: UsageRecord? = nil
  ) -> AdmissionRequest {
    AdmissionRequest(
      id: exchange.id, evidence: verified.evidence, expectation: expectation,
      counterWindow: environment.configuration.attest.counterWindow, now: now,
      charges: charges,
      lease: lease, address: exchange.address, model: model, choices: choices, user: user,
      unsettled: unsettled)
  }

  /// Admits, or throws a ``Failure``. Whatever the database cannot decide is refused: the provider is never
  /// called.
  ///
  /// - Parameter unsettled: the row of usage if this server dies before it settles the call.
  func admit(
    _ kind: ChargePlan.Kind, _ verified: VerifiedEvidence, _ exchange: inout Exchange, lease: Int64?,
    model: ProviderModel? = nil, user: KeyUser? = nil, isAboutSession: Bool = false,
    unsettled: UsageRecord? = nil
  ) async throws -> Admitted {
    let now = environment.now()
    let charges = plan.charges(kind, evidence: verified.evidence, address: exchange.address, now: now)
    var choices: [CallChoice] = []
    if case .chain(let calls) = kind {
      choices = plan.choices(calls, evidence: verified.evidence, address: exchange.address, now: now)
    }
    var request = request(
      verified, exchange, now: now, charges: charges, lease: lease, model: model, choices: choices,
      user: user, unsettled: unsettled)
    request.isAboutSession = isAboutSession
    let admission = request
    return try await judged(verified, &exchange) {
      do {
        return try await environment.ledger.admit(admission)
      } catch {
        if lease != nil { release(admission.id) }
        throw error
      }
    }
  }

  /// After a commit of which nobody knows whether it was made: the call is not made, so what it may have
  /// reserved is released by its id (RULES §5.5).
  private func release(_ id: [UInt8]) {
    let (environment, owed) = (environment, owed)
    environment.background {
      let release = Settlement(id: id, outcome: .released(giveBackCount: false), now: environment.now())
      do {
        try await environment.ledger.settle(release)
      } catch {
        _ = await owed.add(release)
      }
    }
  }

  /// Runs the ledger's step and tells a refusal as a ``Failure``.
  func judged(
    _ verified: VerifiedEvidence, _ exchange: inout Exchange,
    _ step: () async throws -> AdmissionDecision
  ) async throws -> Admitted {
    if let key = verified.key { exchange.keyName = Hex.encode(key.keyID.prefix(6)) }
    let decision: AdmissionDecision
    do {
      decision = try await step()
    } catch let error as CancellationError {
      throw error
    } catch {
      metrics.alarms[Metrics.Alarm.storage].add()
      log.error("storage", [("request_id", .string(exchange.requestID)), ("error", .string("\(error)"))])
      throw Failure.storage(error)
    }
    switch decision {
    case .admitted(let admitted):
      if admitted.outOfOrder { metrics.outOfOrder.add() }
      if let keyID = admitted.keyID, keyID != verified.key?.keyID {
        exchange.keyName = Hex.encode(keyID.prefix(6))
      }
      if let name = verified.debugToken {
        metrics.debugTokenUses.add()
        log.info(
          "debug_token_used",
          [
            ("name", .string(name)), ("request_id", .string(exchange.requestID)),
            ("address", .string(exchange.address)),
          ])
      }
      tell(admitted.remaining, &exchange)
      return admitted
    case .refused(let refusal):
      if let key = verified.key, refusal == .unknownKey || refusal == .banned || refusal == .keyNotAccepted {
        await keys.forget(key.keyID)
      }
      throw Failure.of(
        refusal, key: verified.key, configuration: environment.configuration, now: environment.now())
    }
  }

  private func tell(_ remaining: [Remaining], _ exchange: inout Exchange) {
    let told = plan.told(remaining).map { QuotaStanding($0) }
    for line in QuotaFields.fields(told, now: environment.now()).lines {
      exchange.answerFields[line.name] = line.value
    }
  }
}
