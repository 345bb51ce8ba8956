import Accounts
import Encodings
import Testing

@Suite("Rules of who is left behind")
struct LeavingRuleTests {
  private var facts: LeavingRule.Facts {
    var owner = Example.user(5, isAnonymous: false)
    owner.identities = [Example.identity(1, of: 5)]
    return LeavingRule.Facts(
      bearer: OpenSession(user: owner, session: Example.session(9, of: 5)),
      left: LeftUser(user: Example.id(1)), user: Example.user(1))
  }

  private func decide(
    _ word: LeftBehind, by session: UUID = Example.id(9),
    _ change: (inout LeavingRule.Facts) -> Void = { _ in }
  ) -> Result<LeavingRule.Decision, SignInRefusal> {
    var facts = facts
    change(&facts)
    do throws(SignInRefusal) {
      return .success(
        try LeavingRule.decide(LeavingWord(session: session, word: word, now: Example.now), facts))
    } catch {
      return .failure(error)
    }
  }

  @Test("RULES §3.7: an anonymous user is kept or discarded, once, and the same word again changes nothing")
  func said() {
    #expect(decide(.keep) == .success(.keep))
    #expect(decide(.discard) == .success(.discard(Example.id(1))))
    let ends: [(inout LeavingRule.Facts) -> Void] = [
      { $0.user = nil }, { $0.user?.deletingSince = 1 },
    ]
    for end in ends {
      let again = decide(.discard) {
        $0.left?.word = .discard
        end(&$0)
      }
      #expect(again == .success(.again))
    }
    // The discarding was taken back.
    #expect(decide(.discard) { $0.left?.word = .discard } == .success(.discard(Example.id(1))))
    #expect(decide(.keep) { $0.left?.word = .keep } == .success(.again))
    let gone = decide(.keep) {
      $0.left?.word = .keep
      $0.user = nil
    }
    #expect(gone == .success(.again))
    #expect(decide(.keep) { $0.left?.word = .discard } == .failure(.nothingLeftBehind))
    #expect(decide(.discard) { $0.left?.word = .keep } == .failure(.nothingLeftBehind))
    // Another session that left the same user said that they stay.
    #expect(decide(.discard) { $0.isKept = true } == .failure(.nothingLeftBehind))
    #expect(decide(.keep) { $0.isKept = true } == .success(.keep))
    let takenBack = decide(.discard) {
      $0.left?.word = .discard
      $0.isKept = true
    }
    #expect(takenBack == .failure(.nothingLeftBehind))
  }

  @Test("RULES §3.7: only from the session it opened, only for its own user, only while that is anonymous")
  func refused() {
    let cases: [(SignInRefusal, (inout LeavingRule.Facts) -> Void)] = [
      (.sessionNotFound, { $0.bearer = nil }),
      (.banned, { $0.bearer?.user.bannedUntil = .max }),
      (.deleting, { $0.bearer?.user.deletingSince = 1 }),
      (.nothingLeftBehind, { $0.left = nil }),
      (.nothingLeftBehind, { $0.user = nil }),
      (.nothingLeftBehind, { $0.user = Example.user(2) }),
      (.nothingLeftBehind, { $0.user?.isAnonymous = false }),
      (.nothingLeftBehind, { $0.user?.identities = [Example.identity(2, of: 1)] }),
      // Of another's standing the bearer is told nothing.
      (.nothingLeftBehind, { $0.user?.bannedUntil = .max }),
      (.nothingLeftBehind, { $0.user?.deletingSince = 1 }),
    ]
    for word in LeftBehind.allCases {
      for (refusal, change) in cases { #expect(decide(word, change) == .failure(refusal)) }
      #expect(decide(word, by: Example.id(3)) == .failure(.sessionNotFound))
    }
  }
}
