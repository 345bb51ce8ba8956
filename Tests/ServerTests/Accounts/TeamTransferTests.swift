import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import SignInWithApple
import Stores
import Testing

@testable import Server

/// An app's move to another team, from the sender's export to the recipient's server, at the simulated Apple.
@Suite struct TeamTransferTests {
  private static let newTeam = "NEWTEAM789"

  private struct Move {
    let apple: AppleServer
    let store: SQLTransferStore
    let sender: AppleSigningKey
    let recipient: AppleSigningKey

    init(_ apple: AppleServer) async throws {
      self.apple = apple
      store = SQLTransferStore(apple.server.whole.database)
      let keys = [
        try await apple.apple.makeKey(team: AppleServer.team),
        try await apple.apple.makeKey(team: TeamTransferTests.newTeam),
      ]
      sender = AppleSigningKey(
        teamID: AppleServer.team, keyID: keys[0].keyID, key: try ApplePrivateKey.read(keys[0].p8))
      recipient = AppleSigningKey(
        teamID: TeamTransferTests.newTeam, keyID: keys[1].keyID, key: try ApplePrivateKey.read(keys[1].p8))
    }

    func transfer(accepted: Int64? = nil) async throws -> AccountTransfer {
      try await store.transfer(
        from: AppleServer.team, to: TeamTransferTests.newTeam, acceptedAt: accepted,
        now: apple.server.whole.clock.now)
    }

    func run(_ key: AppleSigningKey, client: String = AppleServer.app) -> TransferRun {
      let (simulated, clock) = (apple.apple, apple.server.whole.clock)
      return TransferRun(
        apple: Handler { try await simulated.respond(to: $0) }, service: .apple, key: key, clientID: client,
        store: store, now: { clock.now })
    }

    func results() async throws -> [TransferResult] {
      try await store.results(try await transfer(), after: nil, limit: 100).map(\.result)
    }
  }

  /// The server as the recipient runs it, on the same database.
  private func recipientsServer(_ move: Move) async throws -> (HTTPRequest) async throws -> HTTPResponse {
    let whole = move.apple.server.whole
    var configuration = whole.server.configuration
    configuration.auth?.apple?.teamID = Self.newTeam
    configuration.auth?.apple?.clients = [
      AppleClient(clientID: AppleServer.app, kind: .native, teamID: Self.newTeam)
    ]
    configuration.auth?.apple?.keyID = nil
    configuration.auth?.apple?.privateKey = nil
    let (clock, database, apple) = (whole.clock, whole.database, move.apple.apple)
    let server = try Server(
      Environment(
        configuration: configuration, now: { clock.now }, uptime: { clock.now * 1_000_000 },
        random: { SecureRandom.bytes($0) }, background: { whole.background.run($0) }, offload: InPlace(),
        log: { _ in }, zone: [],
        keys: SQLDeviceKeyStore(database), ledger: SQLAdmissionLedger(database),
        debugTokens: SQLDebugTokenStore(database),
        accounts: AccountEnvironment(
          store: SQLAccountStore(database), users: SQLUserStore(database),
          signingKeys: SQLSigningKeyStore(database), appleTokens: SQLAppleTokenStore(database),
          appleEvents: SQLAppleEventStore(database), webFlows: SQLWebFlowStore(database),
          adminKeys: SQLAdminKeyStore(database), audit: SQLAuditStore(database),
          deletions: SQLDeletionStore(database),
          apple: Handler { try await apple.respond(to: $0) }),
        isReady: { true }, upstream: Handler { _ in HTTPResponse(status: 500) }))
    return { try await server.handler.respond(to: $0) }
  }

  @Test("everybody keeps the account: who waits for the import, and who signs in before it")
  func wholeWay() async throws {
    let apple = try await AppleServer()
    let ada = try await apple.signInWithCode()
    let grace = try await apple.signIn(AppleServer.grace)
    let move = try await Move(apple)
    let export = move.run(move.sender)
    try await export.probe(try await move.transfer(), .export)
    #expect(try await move.results() == [.waiting, .waiting], "a dry run changes nothing")
    #expect(try await export.run(try await move.transfer(), .export) == 2)
    #expect(try await move.results() == [.exported, .exported])
    #expect(try await export.run(try await move.transfer(), .export) == 0, "there is nothing left to do")
    // The old team's server goes on meanwhile.
    #expect(try await apple.signIn().userID == ada.userID)

    try await apple.apple.transfer(client: AppleServer.app, to: Self.newTeam)
    let server = try await recipientsServer(move)
    func signIn(_ account: String) async throws -> ClientSession {
      try await ClientSession(
        server(
          HTTPRequest(
            method: .post, target: "/auth/v1/token?grant_type=id_token",
            body: HTTPBody(AppleServer.body(apple.sheet(account))), peer: "192.0.2.1")))
    }
    #expect(try await signIn(AppleServer.grace).userID == grace.userID, "found by transfer_sub")
    let accepted = apple.server.whole.clock.now
    let bring = move.run(move.recipient)
    #expect(try await bring.run(try await move.transfer(accepted: accepted), .import) == 1)
    #expect(try await Set(move.results()) == [.transferred, .signedInFirst])
    #expect(try await signIn(AppleServer.ada).userID == ada.userID)
    #expect(try await storedUsers(apple.server).users(offset: 0, limit: 9).total == 2)
    #expect(try await apple.isLive(ada), "nobody was signed out")
  }

  @Test("broken off by Apple it goes on where it stopped, and one who is refused holds up nobody")
  func resumed() async throws {
    let apple = try await AppleServer()
    let accounts = [AppleServer.ada, AppleServer.grace, "alan@example.com"]
    for account in accounts { _ = try await apple.signIn(account) }
    let move = try await Move(apple)
    // Alan's identity is one that Apple knows nothing of.
    let users = storedUsers(apple.server)
    let alan = try #require(
      try await users.users(offset: 0, limit: 9).users.first { $0.email == "alan@example.com" })
    try await apple.server.whole.database.write {
      _ = try await $0.execute(
        "update identities set subject = 'nobody' where user_id = $1", [.uuid(alan.id.octets)])
    }
    await apple.apple.fail(.token, with: .status(503), times: 1)
    let transfer = try await move.transfer()
    await #expect(throws: TransferRun.Stop.self) { try await move.run(move.sender).run(transfer, .export) }
    #expect(try await move.run(move.sender).run(transfer, .export) == 3)
    #expect(try await move.results().count { $0 == .exported } == 2)
    #expect(try await move.results().count { $0 == .refused } == 1)
    #expect(try await move.run(move.sender).run(transfer, .export) == 0)
    #expect(try await move.run(move.sender).run(transfer, .export, again: true) == 1)
  }

  @Test("one's own team, a team that is none, a wrong key and the sixty-first day stop it before anything")
  func stops() async throws {
    let apple = try await AppleServer()
    _ = try await apple.signIn()
    let move = try await Move(apple)
    let now = apple.server.whole.clock.now
    func transfer(_ source: String, _ target: String, accepted: Int64? = nil) async throws -> AccountTransfer
    {
      try await move.store.transfer(from: source, to: target, acceptedAt: accepted, now: now)
    }
    let own = try await transfer(AppleServer.team, AppleServer.team.lowercased())
    await #expect(throws: TransferRun.Stop.ownTeam) { try await move.run(move.sender).run(own, .export) }
    let none = try await transfer(AppleServer.team, "x")
    await #expect(throws: TransferRun.Stop.noTeam) { try await move.run(move.sender).run(none, .export) }
    let late = try await transfer(AppleServer.team, Self.newTeam, accepted: now - 60 * 86_400_000)
    for step in [TransferStep.export, .import] {
      await #expect(throws: TransferRun.Stop.tooLate) { try await move.run(move.sender).run(late, step) }
    }
    let good = try await transfer(AppleServer.team, "OTHERTEAM1")
    let foreign = move.run(move.recipient)
    await #expect(throws: TransferRun.Stop.self) { try await foreign.probe(good, .export) }
    let results = try await move.store.results(good, after: nil, limit: 9)
    #expect(results.map(\.result) == [.waiting])
  }
}
