import AppAttest
import AppleSimulator
import Server
import Testing

@testable import bramley

@Suite("doctor asks Apple about the key for devices")
struct DeviceProbeTests {
  private static let now: Int64 = 1_800_000_000

  private func finding(
    now: Int64 = now, _ change: (inout Configuration.Attest.AppleKey) -> Void = { _ in }
  ) async throws -> Finding {
    let team = try SimulatedTeamKey(team: "TEAM123456")
    let apple = try SimulatedDeviceServices(
      authority: try SimulatedAppleCA(now: Self.now), team: team, now: { Self.now })
    var attest = Configuration.Attest()
    attest.apps = [.init(appID: "TEAM123456.com.example.app", environments: [.production])]
    var key = Configuration.Attest.AppleKey(
      teamID: team.teamID, keyID: team.keyID, privateKey: Secret(team.p8))
    change(&key)
    attest.appleKey = key
    return await DeviceProbe(
      client: apple, services: AppleServices(below: .init(authority: "apple.example")), attest: attest,
      now: now * 1_000
    ).finding()
  }

  @Test("what is right is said to be")
  func good() async throws {
    let finding = try await finding()
    #expect(finding.verdict == .good, "\(finding.words)")
  }

  @Test("each wrong setting fails, and a clock that is off")
  func wrong() async throws {
    let other = try SimulatedTeamKey(team: "TEAM123456")
    #expect(try await finding { $0.teamID = "TEAM123457" }.verdict == .bad)
    #expect(try await finding { $0.keyID = other.keyID }.verdict == .bad)
    #expect(try await finding { $0.privateKey = Secret(other.p8) }.verdict == .bad)
    #expect(try await finding { $0.privateKey = Secret("nonsense") }.verdict == .bad)
    #expect(try await finding(now: Self.now + 90_000).verdict == .bad)
  }

  @Test("without a key that is said, and no failure")
  func none() async throws {
    let apple = try SimulatedDeviceServices(
      authority: try SimulatedAppleCA(now: Self.now), team: nil, now: { Self.now })
    let finding = await DeviceProbe(client: apple, attest: .init(), now: 0).finding()
    #expect(finding.verdict == .note)
  }
}
