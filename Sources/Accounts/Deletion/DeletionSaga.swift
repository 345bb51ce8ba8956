/// A round of a deletion: which step comes next (RULES §4.1). The server carries the steps out, and the store writes
/// down what came of each before the next begins, so that a crash anywhere is followed by another round.
///
/// Apple's tokens, then what the user owns, then the user; with the policy `eventual`, and where the account is gone
/// already, Apple's tokens come last.
package struct DeletionSaga: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    /// Ask Apple to end the consent; the outcome is `done` also where nothing opens the token.
    case revoke(DeletionToken)
    /// Erase what the user owns under that name.
    case erase(String)
    /// Delete the user, and everything that hangs on it.
    case finish
    /// Clear the mark: the account stays.
    case keep(failure: String)
    /// The round is over. Where something is left, why, and another round comes later.
    case rest(failure: String?)
  }

  package enum Outcome: Sendable, Equatable {
    /// No step was taken yet.
    case began
    /// The last step was taken; the row as it is now.
    case done(Deletion)
    /// The last step failed.
    case failed(String)
  }

  package private(set) var deletion: Deletion
  private var last: Action?
  private var failedTokens: Set<Int64> = []
  private var failedNames: Set<String> = []
  private var failure: String?

  package init(_ deletion: Deletion) { self.deletion = deletion }

  package mutating func next(after outcome: Outcome) -> Action {
    let action = decide(outcome)
    last = action
    return action
  }

  private mutating func decide(_ outcome: Outcome) -> Action {
    switch outcome {
    case .began: break
    case .done(let row):
      deletion = row
      // What is left after the account is another round's, which sees whether the person came back.
      if last == .finish || row.state == .kept { return .rest(failure: nil) }
    case .failed(let reason):
      failure = reason
      switch last {
      case .revoke(let token)?:
        if deletion.state == .open { return .keep(failure: reason) }
        failedTokens.insert(token.id)
      case .erase(let name)?: failedNames.insert(name)
      case .finish?: return deletion.state == .open ? .keep(failure: reason) : .rest(failure: reason)
      case .keep?, .rest?, nil: return .rest(failure: reason)
      }
    }
    return step()
  }

  private func step() -> Action {
    let token = deletion.waiting.first { !failedTokens.contains($0.id) }
    let name = deletion.owed.first { !failedNames.contains($0) }
    switch deletion.state {
    case .kept: return .rest(failure: nil)
    case .open, .committed:
      if deletion.policy == .required {
        if let token { return .revoke(token) }
        // Some of its consents are ended: the others follow before the account does.
        if !deletion.waiting.isEmpty { return .rest(failure: failure) }
      }
      if let name { return .erase(name) }
      return .finish
    case .deleted:
      if let token { return .revoke(token) }
      if let name { return .erase(name) }
      return .rest(failure: failure)
    }
  }
}
