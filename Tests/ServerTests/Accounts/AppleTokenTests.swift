import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct AppleTokenTests {
  private func signIn(_ apple: AppleServer) async throws -> ClientSession {
    let sheet = try await apple.sheet()
    return try await ClientSession(
      apple.grant(
        AppleServer.body(sheet, [("authorization_code", .string(sheet.granted.authorizationCode))])))
  }

  private func isAlphanumeric(_ octet: UInt8) -> Bool {
    (0x30...0x39).contains(octet) || (0x61...0x7A).contains(octet | 0x20)
  }

  private func check(_ apple: AppleServer) async throws {
    let job = apple.server.whole.server.jobs.first { $0.name == "check_apple_tokens" }
    #expect(await job?.run() == .done)
  }

  @Test("a code is exchanged at sign-in, and its refresh token kept sealed with the client id")
  func exchange() async throws {
    let apple = try await AppleServer()
    _ = try await signIn(apple)
    let tokens = try await apple.stored()
    #expect(tokens.count == 1)
    #expect(tokens.first?.clientID == AppleServer.app && tokens.first?.sealingKey == "test")
    // Nothing of a token's letters is to be read in it: so many in a row are no chance.
    let runs = tokens.first?.sealed.split { !($0 == 0x2E || $0 == 0x2D || $0 == 0x5F || isAlphanumeric($0)) }
    #expect(try #require(runs).allSatisfy { $0.count < 12 })
    #expect(await apple.apple.calls[.token] == 1)
    _ = try await signIn(apple)
    #expect(try await apple.stored().count == 1)
  }

  @Test("RULES §2.2: a code of another sign-in is refused, and never reaches Apple")
  func foreignCode() async throws {
    let apple = try await AppleServer()
    let other = try await apple.sheet(AppleServer.grace)
    let sheet = try await apple.sheet()
    let body = AppleServer.body(sheet, [("authorization_code", .string(other.granted.authorizationCode))])
    #expect(try await Outcome(apple.grant(body)) == Outcome(400, "identity_token_invalid"))
    #expect(await apple.apple.calls[.token] == nil)
  }

  @Test(
    "a failed exchange fails no sign-in",
    arguments: [
      AppleIDFailure.status(503), .page(200), .error("invalid_grant"), .error("invalid_client"), .unreachable,
      .lostAnswer,
    ])
  func failures(_ failure: AppleIDFailure) async throws {
    let apple = try await AppleServer()
    await apple.apple.fail(.token, with: failure)
    _ = try await signIn(apple)
    let text = apple.server.whole.server.metrics.text
    let alarm = #"bramley_alarms_total{alarm="apple_configuration"} "#
    #expect(text.contains(alarm + (failure == .error("invalid_client") ? "1" : "0")))
  }

  @Test("without a key no code is exchanged")
  func withoutKey() async throws {
    let apple = try await AppleServer(hasKey: false)
    _ = try await signIn(apple)
    #expect(await apple.apple.calls[.token] == nil)
    #expect(!apple.server.whole.server.jobs.contains { $0.name == "check_apple_tokens" })
  }

  @Test("consent is checked once a day at most; a dead token marks the identity, and a sign-in revives it")
  func daily() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    let before = await apple.apple.calls[.token] ?? 0
    try await check(apple)
    #expect(await apple.apple.calls[.token] == before)
    apple.server.whole.clock.advance(seconds: 29 * 3_600)
    try await check(apple)
    try await check(apple)
    #expect(await apple.apple.calls[.token] == before + 1)
    _ = try await apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app)
    apple.server.whole.clock.advance(seconds: 29 * 3_600)
    try await check(apple)
    let id = try #require(UUID(session.userID))
    let users = storedUsers(apple.server)
    #expect(try await users.user(id)?.identities.first?.status == .revoked)
    let again = try await signIn(apple)
    #expect(again.userID == session.userID)
    #expect(try await users.user(id)?.identities.first?.status == .live)
  }

  @Test("invalid_client raises the operator's alarm and marks nobody")
  func alarm() async throws {
    let apple = try await AppleServer()
    let session = try await signIn(apple)
    await apple.apple.fail(.token, with: .error("invalid_client"), times: 10)
    for _ in 0..<3 {
      apple.server.whole.clock.advance(seconds: 29 * 3_600)
      try await check(apple)
    }
    let id = try #require(UUID(session.userID))
    #expect(try await storedUsers(apple.server).user(id)?.identities.first?.status == .live)
    #expect(
      apple.server.whole.server.metrics.text
        .contains(#"bramley_alarms_total{alarm="apple_configuration"} 3"#))
  }
}
