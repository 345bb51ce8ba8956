import BramleyAPI
import Gateway

/// Work that money is held for, as those see it who keep its answer.
protocol PaidWork: Sendable {
  /// The code of the error that was answered.
  var code: ErrorCode? { get async }
  /// What it leaves for a repeat, once it is over.
  var remainder: WorkRemainder { get async }
}

/// What a request leaves for one that repeats it (RULES §5.8).
enum WorkRemainder: Sendable {
  /// Nothing: it cost nothing, and a repeat is a new request.
  case nothing
  /// Its answer.
  case answer
  /// That it began: it may have cost something, and there is no answer to give.
  case mark
}

extension ProviderCall: PaidWork {
  var remainder: WorkRemainder {
    switch settled?.outcome {
    case .released: .nothing
    case .used: settled?.estimated == false ? .answer : .mark
    case nil: .mark
    }
  }
}
