import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: an app changes its team")
struct TransferTests {
  private static let newTeam = "NEWTEAM789"

  /// Both teams' ways to ask.
  private struct Teams {
    let place: Cupertino
    let recipient: AppleSigningKey

    init(_ place: Cupertino) async throws {
      self.place = place
      let key = try await place.apple.makeKey(team: TransferTests.newTeam)
      recipient = AppleSigningKey(
        teamID: TransferTests.newTeam, keyID: key.keyID, key: try ApplePrivateKey.read(key.p8))
    }

    func secret(_ key: AppleSigningKey) throws -> ClientSecret {
      try key.clientSecret(for: Cupertino.app, now: place.now)
    }

    func token(_ key: AppleSigningKey) async throws -> String {
      try await place.tokens(place.requests.migrationToken(secret: secret(key))).accessToken
    }

    func export(_ subject: String, token: String? = nil) async throws -> String {
      let token = if let token { token } else { try await self.token(place.signing) }
      let answer = try await place.answer(
        place.requests.transferIdentifier(
          of: subject, to: TransferTests.newTeam, secret: secret(place.signing), accessToken: token))
      return try AppleAnswer.transferIdentifier(
        status: answer.status, fields: answer.fields, body: answer.body)
    }

    func arrive(_ identifier: String, token: String? = nil) async throws -> TeamTransfer.User {
      let token = if let token { token } else { try await self.token(recipient) }
      let answer = try await place.answer(
        place.requests.transferredUser(identifier, secret: secret(recipient), accessToken: token))
      return try AppleAnswer.transferredUser(status: answer.status, fields: answer.fields, body: answer.body)
    }

    /// A sign-in as the recipient's server judges it.
    func signIn(_ account: String = "ada@example.com") async throws -> AppleIdentity {
      let granted = try await place.apple.signIn(
        account: account, client: Cupertino.app, nonce: Hex.encode(SHA256.hash(Cupertino.raw)))
      let token = try AppleToken(parsing: granted.identityToken)
      let client = AppleClient(clientID: Cupertino.app, kind: .native, teamID: TransferTests.newTeam)
      return try IdentityTokenVerifier(clients: [client]).verify(
        token, key: #require(try await place.published()[token.kid]), nonce: .challenge(Cupertino.raw),
        now: place.now)
    }
  }

  @Test(
    "exported before, imported after: another subject, another relay address, and the token names the way")
  func wholeWay() async throws {
    let place = try await Cupertino()
    let teams = try await Teams(place)
    let old = try await place.signIn(hidesEmail: true)
    let identifier = try await teams.export(old.subject)
    #expect(identifier != old.subject)
    #expect(try await teams.export(old.subject) == identifier, "asked twice, the same")
    await #expect(throws: AppleRefusal.self) { try await teams.arrive(identifier) }
    try await place.apple.transfer(client: Cupertino.app, to: Self.newTeam)
    let user = try await teams.arrive(identifier)
    #expect(user.subject != old.subject && user.isPrivateEmail == true && user.email != old.user?.email)
    #expect(try await teams.arrive(identifier) == user, "resumed, the same")
    // The sender may still export.
    #expect(try await teams.export(old.subject) == identifier)
    let signedIn = try await teams.signIn()
    #expect(signedIn.subject == user.subject && signedIn.transferSubject == identifier)
    #expect(signedIn.email == user.email)
  }

  @Test("who signs in before the import is found by transfer_sub, for sixty days")
  func signInFirst() async throws {
    let place = try await Cupertino()
    let teams = try await Teams(place)
    let old = try await place.signIn()
    let identifier = try await teams.export(old.subject)
    try await place.apple.transfer(client: Cupertino.app, to: Self.newTeam)
    let first = try await teams.signIn()
    #expect(first.transferSubject == identifier && first.subject != old.subject)
    #expect(try await teams.arrive(identifier).subject == first.subject)
    #expect(
      try await teams.signIn("grace@example.com").transferSubject == nil, "a new user came from nowhere")
    place.clock.advance(seconds: 60 * 86_400)
    let later = try await teams.signIn()
    #expect(later.subject == first.subject && later.transferSubject == nil)
    await #expect(throws: AppleRefusal.suspect(detail: nil)) { try await teams.arrive(identifier) }
    await #expect(throws: AppleRefusal.suspect(detail: nil)) { try await teams.export(old.subject) }
  }

  @Test("a transfer to oneself is never asked for")
  func ownTeam() async throws {
    let place = try await Cupertino()
    for target in [Cupertino.team, Cupertino.team.lowercased()] {
      #expect(throws: TeamTransfer.Refusal.ownTeam) {
        try place.requests.transferIdentifier(of: "s", to: target, secret: place.secret(), accessToken: "a")
      }
    }
    for target in ["", "NEWTEAM78", "NEWTEAM7890", "NEWTEAM 89", "NEWTEÄM78"] {
      #expect(throws: TeamTransfer.Refusal.noTeam) {
        try place.requests.transferIdentifier(of: "s", to: target, secret: place.secret(), accessToken: "a")
      }
    }
  }

  @Test("the wrong token, team, user and scope are refused")
  func refused() async throws {
    let place = try await Cupertino()
    let teams = try await Teams(place)
    let old = try await place.signIn()
    let sender = try await teams.token(place.signing)
    let invalidClient = AppleRefusal.configuration(error: "invalid_client", detail: nil)
    // Before the transfer the client is not the recipient's.
    await #expect(throws: invalidClient) { try await teams.token(teams.recipient) }
    await #expect(throws: AppleRefusal.suspect(detail: nil)) {
      try await teams.export("000000.0.0000", token: sender)
    }
    await #expect(throws: invalidClient) { try await teams.export(old.subject, token: "a0") }
    let identifier = try await teams.export(old.subject)
    try await place.apple.transfer(client: Cupertino.app, to: Self.newTeam)
    await #expect(throws: invalidClient) { try await teams.arrive(identifier, token: sender) }
    await #expect(throws: AppleRefusal.suspect(detail: nil)) { try await teams.arrive("000000.0.0000") }
    place.clock.advance(seconds: 3_600)
    await #expect(throws: invalidClient) { try await teams.export(old.subject, token: sender) }
    // A team that gave its client away may do nothing else for it.
    let answer = try await place.answer(
      place.requests.revoke("r0", kind: .refreshToken, secret: place.secret()))
    #expect(answer.status == 400)
    let scope = try await place.post(
      "/auth/token",
      [
        ("client_id", Cupertino.app), ("client_secret", try place.secretText(Cupertino.app)),
        ("grant_type", "client_credentials"), ("scope", "name"),
      ])
    #expect(scope?["error"]?.string == "invalid_scope")
    for target in [Self.newTeam, "ANOTHER123"] {
      await #expect(throws: SimulatorError.unknownClient) {
        try await place.apple.transfer(
          client: target == Self.newTeam ? Cupertino.app : "com.nobody", to: target)
      }
    }
  }
}
