import AppleSimulator
import Server
import SignInWithApple
import Testing

@testable import bramley

@Suite("doctor asks Apple")
struct AppleProbeTests {
  private static let keys = [try? SimulatedAppleKey()].compactMap(\.self)

  private func apple() throws -> SimulatedAppleID {
    try SimulatedAppleID(
      clients: [
        SimulatedAppleClient(clientID: "com.example.app", kind: .native, teamID: "TEAM123456"),
        SimulatedAppleClient(clientID: "com.example.web", kind: .web, teamID: "TEAM123456"),
      ], keys: Self.keys, now: { 1_800_000_000 }, sleep: { _ in })
  }

  private func findings(
    _ apple: SimulatedAppleID, now: Int64 = 1_800_000_000,
    _ change: (inout Configuration.Auth.Apple) -> Void = { _ in }
  ) async throws -> [Finding] {
    var settings = Configuration.Auth.Apple(
      teamID: "TEAM123456",
      clients: [
        AppleClient(clientID: "com.example.app", kind: .native, teamID: "TEAM123456"),
        AppleClient(clientID: "com.example.web", kind: .web, teamID: "TEAM123456"),
      ])
    let key = try await apple.makeKey(team: "TEAM123456")
    settings.keyID = key.keyID
    settings.privateKey = Secret(key.p8)
    change(&settings)
    return await AppleProbe(client: apple, apple: settings, now: now).findings()
  }

  @Test("what is right is said to be, for every client")
  func good() async throws {
    let findings = try await findings(try apple())
    #expect(findings.map(\.verdict) == [.good, .good, .good])
    #expect(findings.map(\.words).joined().contains("com.example.web: taken"))
  }

  @Test("each wrong setting fails for the client that it is about")
  func wrong() async throws {
    let apple = try apple()
    let other = try await apple.makeKey(team: "OTHERTEAM1")
    let changes: [(inout Configuration.Auth.Apple) -> Void] = [
      { $0.teamID = "TEAM123457" }, { $0.keyID = "NOBODY1234" }, { $0.privateKey = Secret(other.p8) },
      { $0.keyID = other.keyID },
    ]
    for change in changes {
      #expect(try await findings(apple, change).map(\.verdict) == [.good, .bad, .bad])
    }
    let unregistered = AppleClient(clientID: "com.example.gone", kind: .native, teamID: "TEAM123456")
    let findings = try await findings(apple) { $0.clients.append(unregistered) }
    #expect(findings.map(\.verdict) == [.good, .good, .good, .bad])
    #expect(findings.last?.words.contains("com.example.gone: invalid_client") == true)
    #expect(
      try await self.findings(apple, now: 1_800_000_900).map(\.verdict) == [.good, .bad, .bad], "the clock")
  }

  @Test("an Apple that says nothing proves nothing; without its keys nobody signs in")
  func away() async throws {
    let apple = try apple()
    await apple.fail(.token, with: .page(502), times: 2)
    #expect(try await findings(apple).map(\.verdict) == [.good, .note, .note])
    await apple.fail(.keys, with: .unreachable)
    #expect(try await findings(apple).first?.verdict == .bad)
    #expect(try await findings(apple) { $0.privateKey = nil }.map(\.verdict) == [.good, .note])
    #expect(try await findings(apple) { $0.privateKey = Secret("no key") }.map(\.verdict) == [.good, .bad])
  }

  @Test("no finding shows the key or a secret made with it")
  func secrecy() async throws {
    let apple = try apple()
    for now in [Int64(0), 1_800_000_000] {
      for finding in try await findings(apple, now: now) {
        #expect(!finding.line.contains("PRIVATE KEY") && !finding.line.contains("eyJ"))
      }
    }
  }
}
