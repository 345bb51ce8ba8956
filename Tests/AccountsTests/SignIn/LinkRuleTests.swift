import Accounts
import Encodings
import Testing

@Suite("Linking rules")
struct LinkRuleTests {
  private let now = Example.now

  private func link(_ policy: SignInPolicy = SignInPolicy()) -> IdentityLink {
    var signIn = Example.signIn()
    signIn.policy = policy
    return IdentityLink(signIn, bearer: Example.id(2), ticketHash: [1], ticketExpiresAt: 1, maxAge: 300)
  }

  private func bearer(identities: [Identity] = [], age: Int64 = 1_000) -> OpenSession {
    var user = Example.user(1, isAnonymous: identities.isEmpty)
    user.identities = identities
    var session = Example.session(2, of: 1)
    session.authTime = now / 1_000 - age
    return OpenSession(user: user, session: session)
  }

  private func decide(
    _ link: IdentityLink, _ open: OpenSession?, token: TokenFacts = TokenFacts(), identity: Identity? = nil,
    isTaken: Bool = false
  ) -> Result<LinkRule.Decision, SignInRefusal> {
    do throws(SignInRefusal) {
      return .success(
        try LinkRule.decide(
          link,
          LinkRule.Facts(token: token, bearer: open, identity: identity, isAddressTaken: isTaken)))
    } catch {
      return .failure(error)
    }
  }

  @Test("a guest's first identity is linked whatever the session's age, with the token's auth_time")
  func first() {
    let open = bearer(age: 1_000_000)
    #expect(decide(link(), open) == .success(.link(open, authTime: (now - 6_000) / 1_000)))
    #expect(decide(link(), nil) == .failure(.sessionNotFound))
    #expect(decide(link(), open, isTaken: true) == .failure(.emailTaken))
    var mailed = open
    mailed.user.email = "x@example.com"
    #expect(decide(link(), mailed, isTaken: true) == .success(.link(mailed, authTime: (now - 6_000) / 1_000)))
    var silent = link()
    silent.signIn.assertion.email = nil
    #expect(decide(silent, open, isTaken: true) == .success(.link(open, authTime: (now - 6_000) / 1_000)))
  }

  @Test("RULES §3.2: a further identity needs policy and a step-up, which the new one is not")
  func further() {
    let two = link(SignInPolicy(identitiesPerTeam: 2))
    for age: Int64 in [-10, 0, 300, 301, 1_000_000] {
      let open = bearer(identities: [Example.identity(2, of: 1)], age: age)
      #expect(decide(link(), open) == .failure(.tooManyIdentities))
      #expect(
        decide(two, open)
          == (age <= 300
            ? .success(.link(open, authTime: open.session.authTime))
            : .failure(.stepUpRequired(maxAge: 300))))
    }
    var other = Example.identity(2, of: 1)
    other.teamID = "TEAM000002"
    let apart = bearer(identities: [other], age: 0)
    #expect(decide(link(), apart) == .success(.link(apart, authTime: apart.session.authTime)))
  }

  @Test("RULES §3.8: what is linked already is said so, but not to the session that the link retired")
  func linked() {
    let identity = Example.identity(1, of: 1)
    var open = bearer(identities: [identity])
    #expect(decide(link(), open, identity: identity) == .failure(.alreadyLinked))
    open.session.successor = Example.id(9)
    #expect(decide(link(), open, identity: identity) == .success(.reopen(open, identity)))
    #expect(decide(link(), open, identity: Example.identity(1, of: 5)) == .success(.conflict(Example.id(5))))
  }

  @Test("RULES §3.6: the repeat of a link needs its bearer; a conflict is judged again within 5 minutes")
  func repeats() {
    let assertion = link().signIn.assertion
    var opened = Example.session(9, of: 1)
    opened.acknowledgedAt = 1
    for use in [UsedToken.Use.signIn, .link, .reauthenticate, .conflict] {
      for bearerID in [Example.id(2), Example.id(3), nil] {
        for age: Int64 in [0, 119_999, 120_000, 299_999, 300_000] {
          let used = UsedToken(
            use: use, requestHash: assertion.requestHash, session: opened.id, bearer: bearerID,
            usedAt: now - age)
          let open = bearer()
          let isOwn = bearerID == Example.id(2)
          let expected: Result<LinkRule.Decision, SignInRefusal> =
            if use == .link, isOwn, age < 120_000 {
              .success(.again)
            } else if use == .conflict, isOwn, age < 300_000 {
              .success(.link(open, authTime: (now - 6_000) / 1_000))
            } else {
              .failure(.tokenUsed)
            }
          #expect(decide(link(), open, token: TokenFacts(used: used, opened: opened)) == expected)
        }
      }
    }
  }

  @Test("banned and leaving users link nothing, nor do tokens of before the withdrawal")
  func refusals() {
    var open = bearer()
    #expect(decide(link(), open, token: TokenFacts(revokedAt: now)) == .failure(.consentRevoked))
    open.user.bannedUntil = now + 1
    #expect(decide(link(), open) == .failure(.banned))
    open.user.deletingSince = 1
    #expect(decide(link(), open) == .failure(.deleting))
  }

  @Test("RULES §3.3: re-authentication is by our challenge and an identity of the very user")
  func reauthentication() {
    let identity = Example.identity(1, of: 1)
    let open = bearer(identities: [identity])
    func decide(
      _ challenge: AppleChallenge?, identity: Identity?, open: OpenSession? = open, hash: [UInt8]? = [7]
    ) -> Result<ReauthenticationRule.Decision, SignInRefusal> {
      var signIn = Example.signIn()
      signIn.assertion.challengeHash = hash
      do throws(SignInRefusal) {
        return .success(
          try ReauthenticationRule.decide(
            signIn, bearer: Example.id(2),
            LinkRule.Facts(token: TokenFacts(challenge: challenge), bearer: open, identity: identity)))
      } catch {
        return .failure(error)
      }
    }
    func challenge(_ purpose: ChallengePurpose, _ session: UUID?) -> AppleChallenge {
      AppleChallenge(hash: [7], purpose: purpose, session: session, expiresAt: now + 1)
    }
    let right = challenge(.reauthenticate, Example.id(2))
    #expect(decide(right, identity: identity) == .success(.renew(open, identity)))
    #expect(decide(right, identity: identity, hash: nil) == .failure(.challengeInvalid))
    #expect(decide(nil, identity: identity) == .failure(.challengeInvalid))
    for purpose in ChallengePurpose.allCases {
      for session in [nil, Example.id(2), Example.id(3)]
      where purpose != .reauthenticate || session != Example.id(2) {
        #expect(decide(challenge(purpose, session), identity: identity) == .failure(.challengeInvalid))
      }
    }
    #expect(decide(right, identity: nil) == .failure(.userMismatch))
    #expect(decide(right, identity: Example.identity(1, of: 9)) == .failure(.userMismatch))
    #expect(decide(right, identity: identity, open: nil) == .failure(.sessionNotFound))
  }
}
