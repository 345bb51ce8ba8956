import Accounts
import Encodings
import Testing

@Suite("Refresh rule")
struct RefreshRuleTests {
  private func decide(
    _ counter: Int64, session: Session = Example.session(), user: User = Example.user(),
    successor: RefreshRule.Successor = .none, keyID: [UInt8]? = nil, binding: RefreshBinding = .off,
    policy: SessionPolicy = SessionPolicy(), now: Int64 = Example.now
  ) -> RefreshRule.Decision {
    RefreshRule.decide(
      Refresh(
        session: session.id, counter: counter, keyID: keyID, binding: binding, policy: policy, now: now),
      session: session, user: user, successor: successor)
  }

  @Test("RULES §3.4: current rotates, its parent is answered again without limit of time, older is reuse")
  func counters() {
    #expect(decide(5) == .rotate(counter: 6, boundTo: nil))
    #expect(decide(4) == .answerAgain)
    #expect(decide(4, now: .max / 2) == .answerAgain)
    for counter: Int64 in [0, 1, 2, 3] {
      #expect(decide(counter) == .refuse(.reused(endedFamily: false)))
      #expect(
        decide(counter, user: Example.user(isAnonymous: false)) == .refuse(.reused(endedFamily: true)))
    }
    #expect(decide(0, session: Example.session(counter: 0)) == .rotate(counter: 1, boundTo: nil))
    // Only the server can have made it: the database was restored from a backup since.
    #expect(decide(9) == .rotate(counter: 10, boundTo: nil))
    #expect(decide(.max) == .rotate(counter: .max, boundTo: nil))
  }

  @Test("RULES §3.5: on an anonymous session an assertion by its key reopens what reuse closed")
  func reopening() {
    var session = Example.session()
    session.keyID = Example.key
    for binding in RefreshBinding.allCases {
      #expect(
        decide(1, session: session, keyID: Example.key, binding: binding)
          == .rotate(counter: 7, boundTo: nil))
    }
    #expect(decide(1, session: session, keyID: [1]) == .refuse(.reused(endedFamily: false)))
    #expect(
      decide(1, session: session, user: Example.user(isAnonymous: false), keyID: Example.key)
        == .refuse(.reused(endedFamily: true)))
  }

  @Test("RULES §3.5: bind_refresh binds sessions to the key they were opened with")
  func binding() {
    var bound = Example.session()
    bound.keyID = Example.key
    let free = Example.session()
    let rotated = RefreshRule.Decision.rotate(counter: 6, boundTo: nil)
    let refused = RefreshRule.Decision.refuse(.attestationRequired)
    #expect(decide(5, session: bound, binding: .off) == rotated)
    #expect(decide(5, session: bound, keyID: [1], binding: .off) == rotated)
    for binding in [RefreshBinding.prefer, .require] {
      #expect(decide(5, session: bound, binding: binding) == refused)
      #expect(decide(4, session: bound, binding: binding) == refused)
      let named = Example.user(isAnonymous: false)
      #expect(decide(5, session: bound, user: named, keyID: [1], binding: binding) == refused)
      #expect(decide(5, session: bound, keyID: Example.key, binding: binding) == rotated)
    }
    #expect(decide(5, session: free, binding: .prefer) == rotated)
    #expect(decide(5, session: free, keyID: Example.key, binding: .prefer) == rotated)
    #expect(decide(5, session: free, binding: .require) == refused)
    #expect(
      decide(5, session: free, keyID: Example.key, binding: .require)
        == .rotate(counter: 6, boundTo: Example.key))
  }

  @Test(
    "RULES §3.5: an anonymous session moves to another genuine app instance, unless every key is demanded")
  func moving() {
    var bound = Example.session()
    bound.keyID = Example.key
    let refused = RefreshRule.Decision.refuse(.attestationRequired)
    #expect(
      decide(5, session: bound, keyID: [1], binding: .prefer) == .rotate(counter: 6, boundTo: [1]))
    // The lost answer to a refresh, then the reinstallation.
    #expect(decide(4, session: bound, keyID: [1], binding: .prefer) == .answerAgain)
    #expect(decide(3, session: bound, keyID: [1], binding: .prefer) == refused)
    #expect(decide(5, session: bound, binding: .prefer) == refused)
    #expect(decide(5, session: bound, keyID: [1], binding: .require) == refused)
  }

  @Test(
    "RULES §3.8: until its successor is acknowledged a session goes on, then yields it for 60 s, then stops")
  func successor() {
    var session = Example.session()
    session.successor = Example.id(3)
    #expect(
      decide(5, session: session, successor: .living(acknowledgedAt: nil))
        == .rotate(counter: 6, boundTo: nil))
    let seen = RefreshRule.Successor.living(acknowledgedAt: Example.now - 59_999)
    #expect(decide(5, session: session, successor: seen) == .answerSuccessor)
    #expect(decide(4, session: session, successor: seen) == .answerSuccessor)
    let stopped = RefreshRule.Decision.refuse(.reused(endedFamily: false))
    for user in [Example.user(), Example.user(isAnonymous: false)] {
      #expect(decide(3, session: session, user: user, successor: seen) == stopped)
      for late in [
        RefreshRule.Successor.living(acknowledgedAt: Example.now - 60_000), .living(acknowledgedAt: 0),
        .ended,
      ] {
        for counter: Int64 in 0...5 {
          #expect(decide(counter, session: session, user: user, successor: late) == stopped)
        }
      }
    }
  }

  @Test("a banned or leaving user, an old or unused session is refused whatever the token")
  func refusals() {
    var banned = Example.user()
    banned.bannedUntil = Example.now + 1
    var leaving = banned
    leaving.deletingSince = 1
    for counter: Int64 in [0, 4, 5, 6] {
      #expect(decide(counter, user: banned) == .refuse(.banned))
      #expect(decide(counter, user: leaving) == .refuse(.deleting))
      #expect(decide(counter, policy: SessionPolicy(lifetime: 1_000_000)) == .refuse(.expired))
      #expect(decide(counter, policy: SessionPolicy(inactivity: 500_000)) == .refuse(.inactive))
    }
    banned.bannedUntil = Example.now
    #expect(decide(5, user: banned) == .rotate(counter: 6, boundTo: nil))
    let long = SessionPolicy(lifetime: 1_000_001, inactivity: 500_001)
    #expect(decide(5, policy: long) == .rotate(counter: 6, boundTo: nil))
    #expect(
      decide(5, policy: SessionPolicy(lifetime: .max, inactivity: .max)) == .rotate(counter: 6, boundTo: nil))
  }
}
