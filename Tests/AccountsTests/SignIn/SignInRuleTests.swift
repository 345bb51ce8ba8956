import Accounts
import Encodings
import Testing

@Suite("Sign-in rules")
struct SignInRuleTests {
  private let now = Example.now

  private func decide(
    _ signIn: IdentitySignIn = Example.signIn(), token: TokenFacts = TokenFacts(), identity: Identity? = nil,
    user: User? = nil, namesakes: [User] = []
  ) -> Result<SignInRule.Decision, SignInRefusal> {
    do throws(SignInRefusal) {
      return .success(
        try SignInRule.decide(
          signIn, SignInRule.Facts(token: token, identity: identity, user: user, namesakes: namesakes)))
    } catch {
      return .failure(error)
    }
  }

  private func known() -> (User, Identity) {
    let identity = Example.identity(1, of: 1)
    var user = Example.user(1, isAnonymous: false)
    user.identities = [identity]
    return (user, identity)
  }

  @Test("RULES §3.6: every earlier use, window and acknowledgement")
  func repeats() {
    let (user, identity) = known()
    let assertion = Example.assertion()
    var opened = Example.session(9, of: 1)
    for use in [UsedToken.Use.signIn, .link, .reauthenticate, .conflict] {
      for age: Int64 in [-5_000, 0, 119_999, 120_000, 299_999, 300_000] {
        for isSame in [true, false] {
          for isSeen in [true, false] {
            opened.acknowledgedAt = isSeen ? now : nil
            let used = UsedToken(
              use: use, requestHash: isSame ? assertion.requestHash : [1], session: opened.id,
              usedAt: now - age)
            let decision = decide(
              token: TokenFacts(used: used, opened: opened), identity: identity, user: user)
            let isRepeat = use == .signIn && age < 120_000 && isSame && !isSeen
            let isOpen = use == .conflict && age < 300_000
            let expected: Result<SignInRule.Decision, SignInRefusal> =
              if isRepeat {
                .success(.again)
              } else if isOpen {
                .success(.signIn(user, identity))
              } else {
                .failure(.tokenUsed)
              }
            #expect(decision == expected, "\(use) \(age) \(isSame) \(isSeen)")
          }
        }
      }
    }
    let used = UsedToken(use: .signIn, requestHash: assertion.requestHash, session: opened.id, usedAt: now)
    #expect(decide(token: TokenFacts(used: used), identity: identity, user: user) == .failure(.tokenUsed))
    opened.acknowledgedAt = nil
    let token = TokenFacts(used: used, opened: opened)
    #expect(decide(token: token, identity: identity, user: user) == .success(.again))
    #expect(decide(token: token) == .failure(.tokenUsed))
    var other = user
    other.id = Example.id(44)
    #expect(decide(token: token, identity: identity, user: other) == .failure(.tokenUsed))
  }

  @Test("RULES §2.1: a challenge is taken for its purpose, client, session and time alone")
  func challenges() {
    var signIn = Example.signIn()
    signIn.assertion.challengeHash = [7]
    #expect(decide(signIn) == .failure(.challengeInvalid))
    for purpose in ChallengePurpose.allCases {
      for client in [nil, "com.example.app", "com.example.other"] {
        for session in [nil, Example.id(3)] {
          for expires in [now, now + 1] {
            for hash: [UInt8] in [[7], [8]] {
              let challenge = AppleChallenge(
                hash: hash, purpose: purpose, clientID: client, session: session, expiresAt: expires)
              let isValid =
                purpose == .signIn && client != "com.example.other" && session == nil && expires > now
                && hash == [7]
              #expect(
                decide(signIn, token: TokenFacts(challenge: challenge))
                  == (isValid ? .success(.signUp) : .failure(.challengeInvalid)))
            }
          }
        }
      }
    }
  }

  @Test("RULES §2.3: a token is of before the withdrawal up to its very millisecond")
  func consent() {
    let iat = Example.assertion().issuedAt
    #expect(decide(token: TokenFacts(revokedAt: iat - 1)) == .success(.signUp))
    for time in [iat, iat + 1, .max] {
      #expect(decide(token: TokenFacts(revokedAt: time)) == .failure(.consentRevoked))
    }
  }

  @Test("banned and leaving users are refused, found by identity or by address")
  func entrance() {
    for isLeaving in [true, false] {
      var (user, identity) = known()
      if isLeaving { user.deletingSince = 1 }
      user.bannedUntil = now + 1
      let refusal = SignInRefusal.banned
      #expect(
        decide(identity: identity, user: user) == .failure(isLeaving ? .deleting : refusal))
      user.identities = []
      user.email = "1@example.com"
      user.emailConfirmedAt = 1
      var signIn = Example.signIn()
      signIn.policy.matchesVerifiedEmail = true
      #expect(decide(signIn, namesakes: [user]) == .failure(isLeaving ? .deleting : refusal))
      identity.status = .revoked
    }
  }

  @Test(
    "RULES §3.11: a verified address finds one confirmed user without a live identity of the team, by policy")
  func matching() {
    var user = Example.user(5, isAnonymous: false)
    user.email = "1@example.com"
    user.emailConfirmedAt = 1
    var signIn = Example.signIn()
    #expect(decide(signIn, namesakes: [user]) == .success(.signUp))
    signIn.policy.matchesVerifiedEmail = true
    #expect(decide(signIn, namesakes: [user]) == .success(.adopt(user)))
    signIn.policy.allowsSignUp = false
    #expect(decide(signIn, namesakes: [user]) == .success(.adopt(user)))
    #expect(decide(signIn) == .failure(.signUpDisabled))
    signIn.policy.allowsSignUp = true
    #expect(decide(signIn, namesakes: [user, Example.user(6)]) == .success(.signUp))
    let changes: [(inout IdentityAssertion, inout User) -> Void] = [
      { assertion, _ in assertion.isEmailVerified = false },
      { assertion, _ in assertion.isPrivateEmail = true },
      { assertion, user in
        assertion.email = "x@privaterelay.appleid.com"
        user.email = assertion.email
      },
      { assertion, _ in assertion.email = nil },
      { assertion, user in
        assertion.email = ""
        user.email = ""
      },
      { _, user in user.emailConfirmedAt = nil },
      { _, user in user.email = "2@example.com" },
      { _, user in user.identities = [Example.identity(9, of: 5)] },
    ]
    for change in changes {
      var (changed, other) = (signIn, user)
      change(&changed.assertion, &other)
      #expect(decide(changed, namesakes: [other]) == .success(.signUp))
    }
    // One that was revoked, or is of another team, is in nobody's way.
    for isRevoked in [true, false] {
      var identity = Example.identity(9, of: 5)
      if isRevoked { identity.status = .revoked } else { identity.teamID = "TEAM000009" }
      user.identities = [identity]
      #expect(decide(signIn, namesakes: [user]) == .success(.adopt(user)))
    }
  }
}
