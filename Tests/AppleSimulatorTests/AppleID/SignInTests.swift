import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: the sheet")
struct SignInTests {
  @Test("what the sheet gives passes the rule of identity tokens, and names its code")
  func native() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    let identity = try await place.verify(granted.identityToken, code: granted.authorizationCode)
    #expect(identity.belongs(granted.authorizationCode))
    #expect(identity.subject == granted.subject && identity.teamID == Cupertino.team)
    #expect(identity.email == "ada@example.com" && identity.isEmailVerified && identity.isPrivateEmail == nil)
    #expect(identity.realUserStatus == .likelyReal && identity.authTime == place.now)
    #expect(identity.expiresAt == place.now + 86_400)
    let shape = /[0-9]{6}\.[0-9a-f]{32}\.[0-9]{4}/
    #expect(granted.subject.wholeMatch(of: shape) != nil)
    #expect(granted.authorizationCode.wholeMatch(of: /c[0-9a-f]{32}\.0\.[a-z]+\.[A-Za-z0-9_-]{22}/) != nil)
  }

  @Test("the user is told of once, and again after a revocation, under the same subject")
  func firstTime() async throws {
    let place = try await Cupertino()
    let first = try await place.signIn()
    #expect(first.user == .init(firstName: "Ada", lastName: "Lovelace", email: "ada@example.com"))
    let second = try await place.signIn()
    #expect(second.user == nil && second.subject == first.subject)
    #expect(try await place.verify(second.identityToken).email == "ada@example.com")
    #expect(try await place.verify(second.identityToken).realUserStatus == nil)
    _ = try await place.apple.revokeConsent(account: "ada@example.com", client: Cupertino.app)
    #expect(await place.apple.credentialState(of: first.subject) == "revoked")
    let third = try await place.signIn(hidesEmail: true)
    #expect(third.user?.firstName == "Ada" && third.subject == first.subject)
    #expect(third.user?.email?.hasSuffix("@privaterelay.appleid.com") == true)
    let identity = try await place.verify(third.identityToken)
    #expect(identity.email == third.user?.email && identity.isPrivateEmail == true)
    #expect(await place.apple.credentialState(of: first.subject) == "authorized")
    #expect(await place.apple.credentialState(of: "000000.x.0000") == "notFound")
  }

  @Test("without scopes there is no name and no e-mail, now or later")
  func scopes() async throws {
    let place = try await Cupertino()
    #expect(try await place.signIn(scopes: []).user == nil)
    let again = try await place.signIn()
    #expect(try await place.verify(again.identityToken).email == nil)
    #expect(again.user == nil)
    let name = try await place.signIn("grace@example.com", scopes: [.name])
    #expect(name.user == .init(firstName: "Grace", lastName: "Hopper", email: nil))
    #expect(try await place.verify(name.identityToken).email == nil)
  }

  @Test("another team knows the person by another subject")
  func teams() async throws {
    let place = try await Cupertino()
    let ours = try await place.signIn()
    let theirs = try await place.apple.signIn(account: "ada@example.com", client: "com.other.app", nonce: nil)
    #expect(ours.subject != theirs.subject && theirs.user != nil)
    #expect(await place.apple.subject(of: "ada@example.com", team: "OTHERTEAM1") == theirs.subject)
  }

  @Test("years of Apple: texts for truth, ten minutes of life, another issuer")
  func behaviours() async throws {
    let place = try await Cupertino()
    await place.apple.behave {
      $0.truthsAsText = true
      $0.tokenLife = 600
    }
    let granted = try await place.signIn(hidesEmail: true)
    let claims = try JWS.Compact(parsing: granted.identityToken).claims
    #expect(claims["email_verified"]?.string == "true" && claims["is_private_email"]?.string == "true")
    let identity = try await place.verify(granted.identityToken)
    #expect(identity.expiresAt - identity.issuedAt == 600 && identity.isPrivateEmail == true)
    // The flip of June 2025: discovery names another issuer, and nobody who does not ask is hurt.
    await place.apple.behave { $0.discoveryIssuer = "https://account.apple.com" }
    let discovery = try await place.answer(
      .init(method: .get, target: "/.well-known/openid-configuration"))
    #expect(try JSONReader.read(discovery.body)["issuer"]?.string == "https://account.apple.com")
    _ = try await place.verify(try await place.signIn().identityToken)
    await place.apple.behave { $0.issuer = "https://account.apple.com" }
    let flipped = try await place.signIn()
    await #expect(throws: AppleTokenError.self) { try await place.verify(flipped.identityToken) }
  }

  @Test("keys sign in turns, rotate, and may sign before they are published")
  func keys() async throws {
    let place = try await Cupertino()
    var names: Set<String> = []
    for _ in 0..<4 { names.insert(try AppleToken(parsing: try await place.signIn().identityToken).kid) }
    #expect(names == Set(await place.apple.keyIDs) && names.count == 2)
    let old = try await place.signIn()
    try await place.apple.rotateKeys(to: Cupertino.keys[2], keeping: 0)
    #expect(await place.apple.keyIDs == [Cupertino.keys[2].kid])
    let oldKid = try AppleToken(parsing: old.identityToken).kid
    #expect(try await place.published()[oldKid] == nil)
    _ = try await place.verify(try await place.signIn().identityToken)
    try await place.apple.signWithHiddenKey(Cupertino.keys[0])
    let early = try await place.signIn()
    #expect(try await place.published()[Cupertino.keys[0].kid] == nil)
    await place.apple.publishHiddenKey()
    _ = try await place.verify(early.identityToken)
  }

  @Test("who does not exist cannot sign in, and a Services ID has no sheet")
  func unknown() async throws {
    let place = try await Cupertino()
    await #expect(throws: SimulatorError.unknownAccount) { try await place.signIn("nobody@example.com") }
    for client in [Cupertino.site, "com.nobody"] {
      await #expect(throws: SimulatorError.unknownClient) {
        try await place.apple.signIn(account: "ada@example.com", client: client, nonce: nil)
      }
    }
    await place.apple.add(SimulatedAccount(email: "nobody@example.com", firstName: "No", lastName: "Body"))
    #expect(try await place.signIn("nobody@example.com").user?.firstName == "No")
  }

  @Test("the same clock and randomness give the same consent")
  func injected() async throws {
    func subject() async throws -> String {
      let apple = try SimulatedAppleID(
        clients: [.init(clientID: "a", kind: .native, teamID: "T")], keys: Cupertino.keys, now: { 7 },
        random: { [UInt8](repeating: 7, count: $0) }, sleep: { _ in })
      return try await apple.signIn(account: "ada@example.com", client: "a", nonce: "n").subject
    }
    #expect(try await subject() == subject())
  }
}
