import Accounts
import Testing

@Suite struct DeletionSagaTests {
  private typealias Case = DeletionExample
  private let now = Example.now

  /// The steps of a round whose outcomes a script gives; the row follows the rules.
  private func run(
    _ deletion: Deletion, failing: (DeletionSaga.Action) -> Bool = { _ in false }
  ) -> (steps: [String], deletion: Deletion) {
    var saga = DeletionSaga(deletion)
    var row = deletion
    var steps: [String] = []
    var outcome = DeletionSaga.Outcome.began
    while steps.count < 50 {
      let action = saga.next(after: outcome)
      let failed = failing(action)
      outcome = failed ? .failed("broken") : .done(row)
      switch action {
      case .revoke(let token):
        steps.append("revoke \(token.id)")
        if !failed { row = DeletionRule.recorded(row, token: token.id, .revoked, lease: now, now: now) }
      case .erase(let name):
        steps.append("erase \(name)")
        if !failed { row = DeletionRule.erased(row, name, lease: now, now: now) }
      case .finish:
        steps.append("finish")
        if !failed { row = DeletionRule.finished(row, now: now) }
      case .keep(let failure):
        steps.append("keep")
        row = DeletionRule.kept(row, failure, now: now)
      case .rest(let failure):
        steps.append(failure.map { "rest: \($0)" } ?? "rest")
        return (steps, row)
      }
      if !failed { outcome = .done(row) }
    }
    return (steps, row)
  }

  @Test("RULES §4.1: every token, then what the user owns, then the user")
  func order() {
    let (steps, row) = run(Case.deletion(tokens: 2, owed: ["objects", "documents"]))
    #expect(steps == ["revoke 1", "revoke 2", "erase objects", "erase documents", "finish", "rest"])
    #expect(row.state == .deleted && !row.isUnfinished && row.revocation == .revoked)
  }

  @Test("RULES §4.1: Apple failing before the first success keeps the account, after it nothing does")
  func failures() {
    let first = run(Case.deletion(tokens: 2, owed: ["objects"])) {
      if case .revoke = $0 { true } else { false }
    }
    #expect(first.steps == ["revoke 1", "keep", "rest"] && first.deletion.state == .kept)
    let second = run(Case.deletion(tokens: 3)) {
      if case .revoke(let token) = $0 { token.id == 2 } else { false }
    }
    #expect(second.steps == ["revoke 1", "revoke 2", "revoke 3", "rest: broken"])
    #expect(second.deletion.state == .committed && second.deletion.waiting.map(\.id) == [2])
    let resumed = run(second.deletion)
    #expect(resumed.steps == ["revoke 2", "finish", "rest"])
  }

  @Test("with the policy eventual the account goes first, and Apple is asked in a later round")
  func eventual() {
    let closed = run(Case.deletion(.open, .eventual, tokens: 2, owed: ["objects"]))
    #expect(closed.steps == ["erase objects", "finish", "rest"])
    #expect(closed.deletion.isUnfinished && closed.deletion.revocation == .queued)
    let failed = run(closed.deletion) { if case .revoke(let token) = $0 { token.id == 1 } else { false } }
    #expect(failed.steps == ["revoke 1", "revoke 2", "rest: broken"])
    #expect(run(failed.deletion).steps == ["revoke 1", "rest"])
  }

  @Test("what cannot be erased does not stop the deletion, and is tried again")
  func owed() {
    let closed = run(Case.deletion(tokens: 0, owed: ["objects", "documents"])) { $0 == .erase("objects") }
    #expect(closed.steps == ["erase objects", "erase documents", "finish", "rest"])
    #expect(closed.deletion.state == .deleted && closed.deletion.owed == ["objects"])
    #expect(run(closed.deletion).steps == ["erase objects", "rest"])
  }

  @Test("RULES §4.1: a refusal of the database keeps an account to which nothing happened, and no other")
  func refused() {
    #expect(run(Case.deletion(tokens: 0)) { $0 == .finish }.steps == ["finish", "keep", "rest"])
    let committed = run(Case.deletion(tokens: 1)) { $0 == .finish }
    #expect(committed.steps == ["revoke 1", "finish", "rest: broken"])
    #expect(committed.deletion.state == .committed)
  }

  @Test("a round over any state ends, and takes no step twice", arguments: Deletion.State.allCases)
  func ends(state: Deletion.State) {
    for policy in Deletion.Policy.allCases {
      for pattern in 0..<64 {
        var step = 0
        let (steps, _) = run(Case.deletion(state, policy, tokens: 2, owed: ["a", "b"])) {
          if case .keep = $0 { return false }
          step += 1
          return pattern >> (step - 1) & 1 == 1
        }
        #expect(steps.last?.hasPrefix("rest") == true)
        #expect(Set(steps).count == steps.count, "\(steps)")
        if state == .kept { #expect(steps == ["rest"]) }
        if state == .deleted { #expect(!steps.contains("finish")) }
        if state != .open { #expect(!steps.contains("keep")) }
      }
    }
  }
}
