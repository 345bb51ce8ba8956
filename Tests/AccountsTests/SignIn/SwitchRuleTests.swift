import Accounts
import Encodings
import Testing

@Suite("Switching rules")
struct SwitchRuleTests {
  private let now = Example.now

  private var ticket: SwitchTicket {
    SwitchTicket(
      hash: [1], bearer: Example.id(2), provider: "apple", teamID: "TEAM000001", subject: "000001.sub",
      user: Example.id(5), issuedAt: now - 5_000, authTime: now / 1_000 - 6, expiresAt: now + 1)
  }

  private var facts: SwitchRule.Facts {
    var owner = Example.user(5, isAnonymous: false)
    owner.identities = [Example.identity(1, of: 5)]
    return SwitchRule.Facts(
      ticket: ticket, bearer: OpenSession(user: Example.user(1), session: Example.session(2, of: 1)),
      identity: owner.identities.first, user: owner)
  }

  private func decide(
    _ facts: SwitchRule.Facts, bearer: UUID = Example.id(2)
  ) -> Result<SwitchRule.Decision, SignInRefusal> {
    do throws(SignInRefusal) {
      return .success(
        try SwitchRule.decide(
          AccountSwitch(
            ticketHash: [1], bearer: bearer, session: Example.id(9), now: now), facts))
    } catch {
      return .failure(error)
    }
  }

  private func changed(_ change: (inout SwitchRule.Facts) -> Void) -> SwitchRule.Facts {
    var facts = facts
    change(&facts)
    return facts
  }

  @Test("RULES §3.7: a ticket opens its user for its bearer, who leaves an anonymous user alone behind")
  func go() throws {
    let owner = try #require(facts.user)
    let authTime = ticket.authTime
    #expect(decide(facts) == .success(.go(owner, authTime: authTime, leaving: Example.id(1))))
    let named = changed { $0.bearer?.user.isAnonymous = false }
    #expect(decide(named) == .success(.go(owner, authTime: authTime, leaving: nil)))
    // A ticket of the future proves nothing of the future.
    let ahead = changed { $0.ticket?.authTime = .max }
    #expect(decide(ahead) == .success(.go(owner, authTime: now / 1_000, leaving: Example.id(1))))
  }

  @Test("RULES §3.7: whatever has changed since refuses it")
  func refused() {
    #expect(decide(facts, bearer: Example.id(3)) == .failure(.challengeInvalid))
    let cases: [(SignInRefusal, (inout SwitchRule.Facts) -> Void)] = [
      (.challengeInvalid, { $0.ticket = nil }),
      (.challengeInvalid, { $0.ticket?.expiresAt = Example.now }),
      (.sessionNotFound, { $0.bearer = nil }),
      (.banned, { $0.bearer?.user.bannedUntil = .max }),
      (.deleting, { $0.bearer?.user.deletingSince = 1 }),
      (.challengeInvalid, { $0.identity = nil }),
      (.challengeInvalid, { $0.user = nil }),
      (.challengeInvalid, { $0.identity?.userID = Example.id(6) }),
      (.challengeInvalid, { $0.ticket?.user = Example.id(6) }),
      (.challengeInvalid, { $0.bearer?.user = $0.user ?? Example.user(1) }),
      (.banned, { $0.user?.bannedUntil = .max }),
      (.deleting, { $0.user?.deletingSince = 1 }),
      (.consentRevoked, { $0.revokedAt = Example.now - 5_000 }),
    ]
    for (refusal, change) in cases { #expect(decide(changed(change)) == .failure(refusal)) }
    #expect(decide(changed { $0.revokedAt = Example.now - 5_001 }) != .failure(.consentRevoked))
  }

  @Test("RULES §3.6: a used ticket gives its session again within two minutes, until that is seen in use")
  func again() {
    var opened = Example.session(9, of: 5)
    for age: Int64 in [0, 119_999, 120_000] {
      for isSeen in [false, true] {
        for lives in [true, false] {
          opened.acknowledgedAt = isSeen ? now : nil
          let facts = changed {
            $0.ticket?.usedAt = now - age
            $0.ticket?.expiresAt = 0
            $0.opened = lives ? opened : nil
            $0.bearer = nil
          }
          let isAgain = age < 120_000 && !isSeen && lives
          #expect(
            decide(facts)
              == (isAgain ? facts.user.map { .success(.again($0)) } : .failure(.tokenUsed)))
        }
      }
    }
  }
}
