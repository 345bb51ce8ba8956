import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Synchronization
import Testing

@testable import Server

/// Codes whose exchange ends after the account is gone: what Apple gave for them is to end as well.
@Suite("Consents that come after a deletion") struct LateConsentTests {
  /// Does something between Apple's answer to a code and its arrival.
  private final class Detour: Sendable {
    private let state = Mutex<(apple: SimulatedAppleID?, step: (@Sendable () async throws -> Void)?)>(
      (nil, nil))

    func know(_ apple: SimulatedAppleID) { state.withLock { $0.apple = apple } }

    func set(_ step: @escaping @Sendable () async throws -> Void) { state.withLock { $0.step = step } }

    func instead(_ request: HTTPRequest) async throws -> HTTPResponse? {
      guard request.path == "/auth/token" else { return nil }
      let (apple, step) = state.withLock { state in
        defer { state.step = nil }
        return state
      }
      guard let apple, let step else { return nil }
      let answer = try await apple.respond(to: request)
      try await step()
      return answer
    }
  }

  /// Ada has signed in without a code, so that her deletion has no consent to end.
  private struct Case {
    let apple: AppleServer
    let session: ClientSession
    let detour = Detour()

    init() async throws {
      let detour = detour
      apple = try await AppleServer(instead: { try await detour.instead($0) })
      detour.know(apple.apple)
      session = try await apple.signIn()
    }

    /// Refresh tokens that Apple honours.
    func live() async throws -> Int {
      try await JSONReader.read(apple.apple.state)["tokens"]?.elements?.count ?? -1
    }

    /// Proves herself again, with a code whose exchange takes the detour.
    func prove() async throws -> HTTPResponse {
      let challenge = try await apple.challenge("reauthenticate", bearer: session.accessToken).json
      let sheet = try await apple.sheet(raw: challenge["challenge"]?.string ?? "")
      return try await apple.grant(
        AppleServer.body(
          sheet,
          [
            ("reauthenticate", true), ("authorization_code", .string(sheet.granted.authorizationCode)),
          ]), bearer: session.accessToken)
    }
  }

  @Test("RULES §2.4: what Apple gave for a code is revoked where its account is gone by then")
  func revoked() async throws {
    let run = try await Case()
    let operation = AppleServer.operation()
    run.detour.set { () async throws in
      #expect(try await run.apple.delete(run.session, as: operation).status == 200)
      #expect(try await run.live() == 1)
    }
    #expect(try await Outcome(run.prove()) == Outcome(403, "session_not_found"))
    #expect(try await run.apple.stored().isEmpty)
    // Apple fails at first: it is tried again.
    await run.apple.apple.fail(.revoke, with: .status(503))
    try await run.apple.resume(after: 1)
    #expect(try await run.live() == 1)
    try await run.apple.resume(after: 120)
    #expect(try await run.live() == 0)
    #expect(try await run.apple.state(operation) == "deleted")
    let calls = await run.apple.revocations()
    try await run.apple.resume(after: 100_000)
    #expect(await run.apple.revocations() == calls)
  }

  @Test("RULES §2.4: it is dropped where the person has an account again by then")
  func superseded() async throws {
    let run = try await Case()
    run.detour.set { () async throws in #expect(try await run.apple.delete(run.session).status == 200) }
    #expect(try await Outcome(run.prove()) == Outcome(403, "session_not_found"))
    let back = try await run.apple.signInWithCode(client: AppleServer.app)
    try await run.apple.resume(after: 1)
    #expect(try await run.apple.isLive(back))
    try await run.apple.resume(after: 100_000)
    #expect(await run.apple.revocations() == 0)
    #expect(try await run.live() == 2)
  }

  @Test("RULES §2.4: whoever signs in while the account goes is somebody new, whose consent stays")
  func newcomer() async throws {
    let run = try await Case()
    run.detour.set { () async throws in #expect(try await run.apple.delete(run.session).status == 200) }
    let back = try await run.apple.signInWithCode(client: AppleServer.app)
    #expect(back.userID != run.session.userID)
    try await run.apple.resume(after: 1)
    #expect(await run.apple.revocations() == 0)
    #expect(try await run.apple.stored().count == 1)
    #expect(try await run.live() == 1)
  }

  /// A link with a code, whose session is signed out before Apple's answer comes: nobody has the identity.
  private func linkWithoutSession(_ account: String, _ run: Case) async throws {
    let (apple, detour) = (run.apple, run.detour)
    let guest = try await ClientSession(apple.server.ask(.post, "/signup", "{}"))
    detour.set { () async throws in
      let gone = try await apple.server.ask(.post, "/logout?scope=local", bearer: guest.accessToken)
      #expect(gone.status == 204)
    }
    apple.server.whole.background.hold()
    let sheet = try await apple.sheet(account)
    let answer = try await apple.grant(
      AppleServer.body(
        sheet,
        [("link_identity", true), ("authorization_code", .string(sheet.granted.authorizationCode))]),
      bearer: guest.accessToken)
    #expect(try await Outcome(answer) == Outcome(403, "session_not_found"))
    #expect(try await run.live() == 1)
  }

  @Test(
    "RULES §2.4: the consent of a link whose session is over ends, unless its person signs in before that")
  func link() async throws {
    for signsIn in [false, true] {
      let run = try await Case()
      let background = run.apple.server.whole.background
      try await linkWithoutSession(AppleServer.grace, run)
      if signsIn { _ = try await run.apple.signIn(AppleServer.grace) }
      #expect(background.letGo() == 1)
      await background.drain()
      #expect(try await run.live() == (signsIn ? 1 : 0))
      #expect(await run.apple.revocations() == (signsIn ? 0 : 1))
      #expect(try await run.apple.stored().count == (signsIn ? 1 : 0))
    }
  }

  @Test("a code that comes with the second of two deletions is not lost either")
  func known() async throws {
    let run = try await Case()
    let sheet = try await run.apple.sheet()
    run.detour.set { () async throws in #expect(try await run.apple.delete(run.session).status == 200) }
    let second = try await run.apple.delete(
      run.session, [("authorization_code", .string(sheet.granted.authorizationCode))])
    #expect(second.status == 200 || second.status == 403)
    try await run.apple.resume(after: 1)
    #expect(try await run.live() == 0)
  }
}
