import Admission
import AppAttest
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// How the ledger's refusals are told.
extension Failure {
  /// The failure of a refusal. `key` is the registered key where the evidence was of one: a row that is not
  /// accepted is told apart by it.
  static func of(
    _ refusal: AdmissionRefusal, key: DeviceKey?, configuration: Configuration, now: Int64
  ) -> Failure {
    switch refusal {
    case .unknownKey: return .unknownKey
    case .banned: return .keyRevoked
    case .keyNotAccepted: return notAccepted(key, configuration)
    case .counterReplayed: return .counterReplayed
    case .challengeUsed: return .challengeUsed
    case .invalidToken: return .invalidSession
    case .tooManyUsers(let until):
      return Failure(
        429, .keyUserLimit, "Too many users have signed in on this device.",
        fields: [
          "x-should-retry": "false", "retry-after": String(max(1, (until - now + 999) / 1000)),
        ])
    case .userGone, .sessionOver: return .sessionNotFound
    case .userLeaving: return .deletionInProgress
    case .userHeld: return .changing
    case .userBanned: return .userBanned
    case .modelClosed: return .modelClosed
    case .inFlight(let rule): return of(.inFlight(rule: rule), rule: rule, now: now)
    case .burst(let rule, let retryAt): return of(.burst(rule: rule, retryAt: retryAt), rule: rule, now: now)
    case .exhausted(let remaining):
      var failure = of(.exhausted(QuotaStanding(remaining)), rule: remaining.rule, now: now)
      failure.problemType = "https://iana.org/assignments/http-problem-types#quota-exceeded"
      // What never comes back has no such instant.
      if remaining.resetsAt < .max {
        failure.members.append(Member("resets_at", .integer(remaining.resetsAt / 1000)))
      }
      return failure
    }
  }

  private static func of(_ refusal: QuotaRefusal, rule: String, now: Int64) -> Failure {
    let error = refusal.error(now: now)
    return Failure(
      error.status, ErrorCode(rawValue: error.code), error.message, fields: error.fields,
      members: [Member("violated-policies", [.string(rule)])])
  }

  private static func notAccepted(_ key: DeviceKey?, _ configuration: Configuration) -> Failure {
    guard let key, let app = configuration.attest.apps.first(where: { $0.appID == key.appID }) else {
      return .appMismatch
    }
    // An app and environment that are accepted leave the trust anchor: the simulator's, in production.
    return app.environments.contains(key.environment) ? .unknownKey : .environmentMismatch
  }
}

extension QuotaStanding {
  init(_ remaining: Remaining) {
    self.init(
      rule: remaining.rule, limit: remaining.limit, remaining: remaining.remaining,
      window: Window(id: "", start: remaining.windowStart, end: remaining.resetsAt), unit: remaining.unit)
  }
}
