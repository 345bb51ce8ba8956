import Accounts
import SQL

extension Transaction {
  /// Does the step as it is expected to end (RULES §3.9): one that is tried, or comes to something else, is taken back.
  /// Refusals stay as they are, with what they wrote.
  ///
  /// - Parameter changed: the outcome of one that came to something else.
  func expecting<Outcome: SessionOutcome>(
    _ expectation: StepExpectation, changed: Outcome, _ step: () async throws -> Outcome
  ) async throws -> Outcome {
    if expectation == .anything { return try await step() }
    try await execute("savepoint expectation")
    let outcome: Outcome
    do {
      outcome = try await step()
    } catch {
      // Whoever shares the transaction goes on in it.
      if dialect == .sqlite { try await execute("release savepoint expectation") }
      throw error
    }
    guard let open = outcome.opened, !isExpected(open, expectation) else {
      try await execute("release savepoint expectation")
      return outcome
    }
    try await execute("rollback to savepoint expectation")
    try await execute("release savepoint expectation")
    return expectation == .trial ? outcome : changed
  }

  private func isExpected(_ open: OpenSession, _ expectation: StepExpectation) -> Bool {
    switch expectation {
    case .anything: true
    case .trial: false
    case .session(let expected): open.saysTheSame(as: expected)
    }
  }
}
