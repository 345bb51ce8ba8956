/// What one check of an inspection came to.
package struct Verdict: Sendable, Equatable {
  package enum Outcome: String, Sendable {
    case passed
    case failed
    /// It had nothing to judge.
    case skipped
  }

  /// The check's name, stable: a case of `AttestationCheck`, `AssertionCheck` or `ReceiptCheck`.
  package let check: String
  /// What it asks, for people.
  package let question: String
  package let outcome: Outcome
  /// What was found, why it failed, or why it was skipped; may be empty.
  package let detail: String

  init<Failure: CustomStringConvertible>(
    _ check: String, _ question: String, _ outcome: CheckOutcome<Failure>, found: @autoclosure () -> String
  ) {
    self.check = check
    self.question = question
    switch outcome {
    case .passed: (self.outcome, detail) = (.passed, found())
    case .failed(let error): (self.outcome, detail) = (.failed, error.description)
    case .skipped(let reason): (self.outcome, detail) = (.skipped, reason)
    }
  }
}

/// Something that an artefact says, whether it is proven or not.
package struct Fact: Sendable, Equatable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Every check's verdict on an artefact, made independently of the others where its parts can be read, and
/// what the artefact says. For people who want to know why; a server goes by the verifiers, which run the
/// same checks.
package struct Inspection: Sendable, Equatable {
  package let verdicts: [Verdict]
  package let facts: [Fact]

  /// Whether no check failed. Checks that had nothing to compare with were skipped, and do not count.
  package var holds: Bool { verdicts.allSatisfy { $0.outcome != .failed } }

  /// Facts without a value are left out.
  init(_ verdicts: [Verdict], _ facts: [(String, String?)]) {
    self.verdicts = verdicts
    self.facts = facts.compactMap { name, value in value.map { Fact(name, $0) } }
  }
}
