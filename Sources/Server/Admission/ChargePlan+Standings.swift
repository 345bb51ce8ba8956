import Admission
import BramleyAPI
import Gateway

/// What a caller is told of where it stands.
extension ChargePlan {
  /// Of a rule that counts several subjects, such as a user and the person behind it, the one that has least left.
  func told(_ remaining: [Remaining]) -> [Remaining] {
    var told: [Remaining] = []
    for next in remaining where toldRules.contains(next.rule) {
      if let index = told.firstIndex(where: { $0.rule == next.rule }) {
        if next.remaining < told[index].remaining { told[index] = next }
      } else {
        told.append(next)
      }
    }
    return told
  }

  /// As the app reads it.
  func answer(_ remaining: [Remaining]) -> QuotaAnswer {
    QuotaAnswer(
      quotas: told(remaining).map { standing in
        QuotaState(
          name: standing.rule, limit: standing.limit, remaining: max(0, standing.remaining),
          resetsAt: standing.resetsAt == .max ? nil : standing.resetsAt / 1000,
          unit: standing.unit.rawValue,
          function: rules.first { $0.name == standing.rule }?.function)
      })
  }
}
