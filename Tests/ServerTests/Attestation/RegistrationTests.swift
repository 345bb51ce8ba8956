import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct RegistrationTests {
  @Test("a key is registered once, and the same again is told as such")
  func register() async throws {
    let server = try await WholeServer()
    let phone = try await Phone(server)
    let request = try await phone.registration()
    let first = try await server.send(request)
    #expect(first.status == 201)
    #expect(RegistrationAnswer(body: try await first.body.collect(upTo: 1000))?.keyID == phone.key)
    #expect(first.fields[AttestFields.nextChallenge] != nil)
    #expect(first.fields["cache-control"] == "no-store")
    #expect(try await server.send(request).status == 200, "the first answer may have got lost")
    #expect(try await server.keys.key(phone.key)?.environment == .production)
    #expect(try await phone.ask().status == 200)
  }

  @Test("each of iOS 14 to 27 and macOS registers and asks", arguments: SimulatedSystem.all)
  func systems(_ system: SimulatedSystem) async throws {
    let server = try await WholeServer()
    let clock = server.clock
    let device = try SimulatedDevice(
      authority: server.authority, app: WholeServer.app, system: system, now: { clock.seconds })
    let phone = try await Phone(server, device: device)
    #expect(try await phone.register().status == 201)
    #expect(try await phone.ask().status == 200)
  }

  @Test(
    "what is wrong with an attestation is refused, and the key stays unknown",
    arguments: SimulatedFlaw.allCases)
  func flaws(_ flaw: SimulatedFlaw) async throws {
    let server = try await WholeServer()
    let phone = try await Phone(server)
    let expected =
      switch flaw {
      case .otherApp: Outcome(403, "app_mismatch")
      case .otherEnvironment: Outcome(403, "environment_mismatch")
      default: Outcome(400, "attestation_invalid")
      }
    let response = try await server.send(try await phone.registration(flaw: flaw))
    // Several flaws break the nonce as well: what is checked first tells.
    let outcome = try await Outcome(response)
    #expect(outcome == expected || outcome == Outcome(400, "attestation_invalid"))
    #expect(try await server.keys.key(phone.key) == nil)
  }

  @Test("RULES §1.4: a challenge of another purpose, too old, forged or not ours registers nothing")
  func challenges() async throws {
    let server = try await WholeServer()
    let forOther = try await server.challenge("request")
    #expect(
      try await Outcome(server.send(Phone(server).registration(challenge: forOther)))
        == Outcome(401, "challenge_invalid"))
    let old = try await server.challenge("registration")
    server.clock.advance(seconds: 300)
    #expect(
      try await Outcome(server.send(Phone(server).registration(challenge: old)))
        == Outcome(401, "challenge_expired"))
    for forged in ["", "AAAA", String(repeating: "A", count: 56), String(repeating: "A", count: 10_000)] {
      #expect(
        try await Outcome(server.send(Phone(server).registration(challenge: forged)))
          == Outcome(401, "challenge_invalid"))
    }
  }

  @Test("RULES §1.4: a challenge registers one key")
  func reuse() async throws {
    let server = try await WholeServer()
    let challenge = try await server.challenge("registration")
    #expect(try await server.send(Phone(server).registration(challenge: challenge)).status == 201)
    #expect(
      try await Outcome(server.send(Phone(server).registration(challenge: challenge)))
        == Outcome(401, "challenge_used"))
  }

  @Test("a revoked key does not come back")
  func revoked() async throws {
    let server = try await WholeServer()
    let phone = try await Phone(server)
    let request = try await phone.registration()
    #expect(try await server.send(request).status == 201)
    _ = try await server.keys.revoke(phone.key)
    #expect(try await Outcome(server.send(request)) == Outcome(403, "key_revoked"))
  }

  @Test("an attestation for another audience is refused")
  func audience() async throws {
    let server = try await WholeServer()
    var phone = try await Phone(server)
    phone.audience = "https://evil.example"
    #expect(try await Outcome(phone.register()) == Outcome(400, "attestation_invalid"))
  }

  @Test("RULES §1.6: without the simulator's root its devices are strangers")
  func untrusted() async throws {
    let server = try await WholeServer { $0.attest.simulatorRoot = nil }
    let phone = try await Phone(server)
    #expect(try await Outcome(phone.register()) == Outcome(400, "attestation_invalid"))
  }

  @Test("a development build is refused where only production is accepted")
  func environment() async throws {
    let server = try await WholeServer()
    let phone = try await Phone(
      server, app: SimulatedApp(id: WholeServer.app.id, distribution: .development))
    #expect(try await Outcome(phone.register()) == Outcome(403, "environment_mismatch"))
  }

  @Test("the policy of builds is asked at registration")
  func builds() async throws {
    let server = try await WholeServer { $0.attest.validationCategories = [2] }
    #expect(try await Outcome(Phone(server).register()) == Outcome(403, "build_not_accepted"))
  }

  @Test("bodies that are none are refused")
  func bodies() async throws {
    let server = try await WholeServer()
    for body in [
      "", "{}", "[]", "{\"key_id\":1}", "{\"key_id\":\"AA==\",\"attestation\":\"AA==\",\"challenge\":\"x\"}",
    ] {
      let response = try await server.send(
        HTTPRequest(method: .post, target: AttestTargets.keys, body: HTTPBody(body)))
      #expect(try await Outcome(response) == Outcome(400, "invalid_request"))
    }
    let large = HTTPRequest(
      method: .post, target: AttestTargets.keys, body: HTTPBody([UInt8](repeating: 0x20, count: 32_769)))
    #expect(try await Outcome(server.send(large)) == Outcome(413, "body_too_large"))
  }

  @Test("registrations and challenges of an address are bounded, others go on")
  func bounded() async throws {
    let server = try await WholeServer {
      $0.attest.registrationsPerHour = 2
      $0.attest.challengesPerMinute = 20
    }
    for _ in 0..<2 { #expect(try await Phone(server).register().status == 201) }
    let refused = try await Phone(server).register()
    #expect(refused.fields["retry-after"] != nil)
    #expect(try await Outcome(refused) == Outcome(429, "rate_limited"))
    var other = try await Phone(server).registration()
    other.peer = "192.0.2.2"
    #expect(try await server.send(other).status == 201)

    let many = HTTPRequest(method: .get, target: "/attest/v1/challenge?count=16", peer: "198.51.100.1")
    #expect(try await server.send(many).status == 200)
    #expect(try await Outcome(server.send(many)) == Outcome(429, "rate_limited"))
  }
}

@Suite struct ChallengeTests {
  private func get(_ server: WholeServer, _ query: String) async throws -> HTTPResponse {
    try await server.send(HTTPRequest(method: .get, target: "/attest/v1/challenge" + query, peer: "::1"))
  }

  @Test("as many as are asked for, each another, for five minutes")
  func count() async throws {
    let server = try await WholeServer()
    let response = try await get(server, "?count=16&purpose=token")
    #expect(response.fields["cache-control"] == "no-store")
    let answer = try #require(ChallengeAnswer(body: try await response.body.collect(upTo: 10_000)))
    #expect(Set(answer.challenges.map(\.text)).count == 16)
    #expect(answer.challenges.allSatisfy { $0.expiresAt == server.clock.seconds + 300 })
    #expect(answer.challenges.allSatisfy { ($0.bytes?.count ?? 99) <= 64 })
  }

  @Test(
    "other parameters are refused",
    arguments: [
      "?count=0", "?count=17", "?count=-1", "?count=+1", "?count=", "?count=1&count=2", "?purpose=all",
      "?x=1",
      "?count=%31", "?count=99999999999999999999",
    ])
  func parameters(_ query: String) async throws {
    #expect(try await Outcome(get(try await WholeServer(), query)) == Outcome(400, "invalid_request"))
  }

  @Test("a new secret keeps the challenges of the last one alive")
  func rotation() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let before = try await server.challenge()
    let rotate = try #require(server.server.jobs.first { $0.name == "rotate_challenge_secret" })
    await rotate.run()
    #expect(try await server.send(phone.sign(Phone.question(), challenge: before)).status == 200)
    #expect(try await phone.ask().status == 200)
    await rotate.run()
    #expect(
      try await Outcome(server.send(phone.sign(Phone.question(), challenge: before)))
        == Outcome(401, "challenge_invalid"))
  }
}
