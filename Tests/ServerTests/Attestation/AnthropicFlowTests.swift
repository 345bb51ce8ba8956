import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Anthropic's App Attest flow") struct AnthropicFlowTests {
  private let badSignature = Outcome(401, "bad_signature")

  @Test(
    "RULES §1.11: an app with Claude's package registers, streams, and renews its token, with another base URL"
  )
  func whole() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let first = try await phone.register()
    #expect(first.status == 200)
    #expect(first.fields["cache-control"] == "no-store")
    let grant = try await ClaudeGrant(first)
    #expect(grant.token.hasPrefix("bat_") && grant.expiresIn == 600)
    #expect(grant.next.count == 32 && grant.nextExpiresIn > 300)
    let answer = try await phone.ask(grant.token)
    #expect(answer.status == 200 && answer.fields["content-type"]?.hasPrefix("text/event-stream") == true)
    _ = try await answer.body.collect(upTo: 1 << 20)
    let usage = try await server.usage()
    #expect(usage.map(\.keyID) == [phone.key])
    // The challenge that came with the token spares the fetch.
    let second = try await ClaudeGrant(phone.exchange(grant.next))
    #expect(second.token.hasPrefix("bat_") && second.token != grant.token)
    let third = try await ClaudeGrant(phone.exchange(phone.challenge()))
    #expect(try await phone.ask(second.token).status == 200)
    #expect(try await phone.ask(third.token).status == 200)
    #expect(
      try await Outcome(phone.ask(grant.token)) == Outcome(401, "invalid_session"), "RULES §1.8: two at most")
    #expect(server.upstreamRequests.values.allSatisfy { !"\($0.fields)".contains("bat_") })
    #expect(!server.lines.values.joined().contains(second.token))
  }

  @Test("RULES §1.11: a challenge buys one token, also with a new assertion, and also for whoever repeats it")
  func once() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let grant = try await ClaudeGrant(phone.register())
    let form = try await phone.form(phone.assertion(grant.next))
    #expect(try await phone.exchange(form).status == 200)
    #expect(try await phone.exchange(form).status == 401)
    #expect(try await Outcome(phone.exchange(grant.next)) == badSignature)
    #expect(try await phone.exchange(phone.challenge()).status == 200)
  }

  @Test("RULES §1.11: of twenty exchanges of one challenge at once, one is granted")
  func race() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let grant = try await ClaudeGrant(phone.register())
    var forms: [FormParameters] = []
    for _ in 0..<20 { forms.append(try await phone.form(phone.assertion(grant.next))) }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for form in forms { group.addTask { try await phone.exchange(form).status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.filter { $0 == 200 }.count == 1)
    #expect(statuses.filter { $0 == 401 }.count == 19)
  }

  @Test("RULES §1.11: a key registers once; the attestation again is 401, and gives no token")
  func registersOnce() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let attestation = try await phone.attestation(phone.challenge())
    let grant = try await ClaudeGrant(phone.register(attestation))
    #expect(try await Outcome(phone.register(attestation)) == Outcome(401, "key_conflict"))
    // Also where the challenge that it was made for holds still, and the key came by the other flow.
    let other = try await ClaudePhone(server)
    let challenge = try await other.challenge()
    let plain = try await Phone(server, device: other.device)
    #expect(try await plain.register().status == 201)
    let known = ClaudePhone(server, device: other.device, keyID: plain.keyID)
    #expect(try await Outcome(known.register([1, 2, 3])) == Outcome(401, "key_conflict"))
    #expect(try await other.register(other.attestation(challenge)).status == 200)
    #expect(try await phone.ask(grant.token).status == 200)
  }

  @Test("RULES §1.11: twenty registrations of one attestation at once make one key with one token")
  func registrationRace() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let attestation = try await phone.attestation(phone.challenge())
    let answers = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
      for _ in 0..<20 { group.addTask { try await phone.register(attestation) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.filter { $0.status == 200 }.count == 1)
    #expect(answers.filter { $0.status == 401 }.count == 19)
    let tokens = try await server.database.read {
      try await $0.first("select count(*) from session_tokens") { $0.int64(0) }
    }
    #expect(tokens == 1)
  }

  @Test("RULES §1.11: a challenge holds five minutes at least, ten at most, and says how long")
  func slots() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    _ = try await phone.register()
    for offset: Int64 in [0, 1, 150, 298, 299] {
      let into = server.clock.seconds % 300
      server.clock.advance(seconds: 300 - into + offset)
      let answer = try await phone.askChallenge().json
      let expiresIn = try #require(answer["expires_in"]?.integer)
      #expect(expiresIn == 600 - offset && expiresIn >= 60)
      let challenge = try await phone.challenge()
      server.clock.advance(seconds: expiresIn)
      #expect(try await Outcome(phone.exchange(challenge)) == badSignature)
      let fresh = try await phone.challenge()
      server.clock.advance(seconds: 300)
      #expect(try await phone.exchange(fresh).status == 200)
    }
    // A clock that goes back revives none.
    let spent = try await phone.challenge()
    #expect(try await phone.exchange(spent).status == 200)
    server.clock.advance(seconds: -200)
    // The limiter's own clock never goes back; here it does, for whoever asked before.
    var elsewhere = phone
    elsewhere.address = "192.0.2.200"
    #expect(try await elsewhere.exchange(spent).status == 401)
  }

  @Test(
    "RULES §1.11: an app's client id is bound to it: no other app's key, nor a challenge of another client")
  func clients() async throws {
    let otherApp = SimulatedApp(id: "ABCDE12345.com.example.other", distribution: .appStore)
    let server = try await ClaudePhone.server {
      $0.attest.apps.append(.init(appID: otherApp.id, environments: [.production], clientID: "clid_other"))
    }
    let phone = try await ClaudePhone(server)
    var stranger = phone
    stranger.client = "clid_unknown"
    #expect(try await Outcome(stranger.askChallenge()) == Outcome(400, "invalid_request"))
    let grant = try await ClaudeGrant(phone.register())
    var posing = phone
    posing.client = "clid_other"
    #expect(try await Outcome(posing.exchange(posing.challenge())) == Outcome(403, "app_mismatch"))
    #expect(try await Outcome(phone.exchange(posing.challenge())) == badSignature)
    let signed = try await phone.assertion(grant.next, client: "clid_other")
    #expect(try await Outcome(phone.exchange(phone.form(signed))) == badSignature)
    var newcomer = try await ClaudePhone(server)
    newcomer.client = "clid_other"
    #expect(try await Outcome(newcomer.register()) == Outcome(403, "app_mismatch"))
    newcomer.client = ClaudePhone.client
    #expect(try await Outcome(newcomer.exchange(newcomer.challenge())) == Outcome(401, "unknown_key"))
    let own = try await ClaudePhone(server, app: otherApp)
    var other = own
    other.client = "clid_other"
    #expect(try await other.register().status == 200)
  }

  @Test("RULES §1.1: what is signed for one flow is nothing in the other")
  func bindings() async throws {
    let server = try await ClaudePhone.server()
    let claude = try await ClaudePhone(server)
    let grant = try await ClaudeGrant(claude.register())
    // The assertion of Anthropic's flow, at Bramley's own exchange.
    let assertion = try await claude.assertion(grant.next)
    var request = HTTPRequest(method: .post, target: AttestTargets.token, peer: "192.0.2.1")
    request.fields[AttestFields.keyID] = claude.keyID
    request.fields[AttestFields.assertion] = Base64.encode(assertion)
    request.fields[AttestFields.challenge] = Base64.encodeURL(grant.next)
    #expect(try await Outcome(server.send(request)) == Outcome(401, "challenge_invalid"))
    // An assertion by Bramley's own rule, at Anthropic's.
    let text = try await server.challenge("token")
    let bytes = SignedBytes.tokenExchange(
      audience: WholeServer.audience, challenge: Base64.decode(text) ?? [], method: "POST",
      target: AnthropicAttest.token, authorizationHash: SHA256.hash(""), bodyHash: SHA256.hash(""))
    let own = try await claude.device.generateAssertion(claude.keyID, clientDataHash: SHA256.hash(bytes))
    #expect(try await Outcome(claude.exchange(claude.form(own))) == badSignature)
    // An attestation for Bramley's registration, at Anthropic's.
    let fresh = try await ClaudePhone(server)
    let plain = SignedBytes.registration(
      audience: WholeServer.audience, challenge: try await fresh.challenge())
    let attestation = try await fresh.device.attestKey(fresh.keyID, clientDataHash: SHA256.hash(plain))
    #expect(try await Outcome(fresh.register(attestation)) == Outcome(400, "attestation_invalid"))
    #expect(try await claude.exchange(grant.next).status == 200)
  }

  @Test("RULES §1.8: its token opens Anthropic's routes alone, inside the same quotas, and ends with its key")
  func bounds() async throws {
    let server = try await ClaudePhone.server {
      $0.quotas = [.init(name: "daily", subject: .key, limit: 2)]
    }
    let phone = try await ClaudePhone(server)
    let grant = try await ClaudeGrant(phone.register())
    let elsewhere = "/ai/fal/run/\(Configuration.Fal.exampleModel)"
    #expect(try await Outcome(phone.ask(grant.token, target: elsewhere)) == Outcome(401, "invalid_session"))
    let bought = try await SessionAnswer(
      body: Phone(server, device: phone.device, keyID: phone.keyID).token().body.collect(upTo: 1_000))
    let open = try await Outcome(phone.ask(#require(bought).token, target: elsewhere))
    #expect(open.status != 401, "a token of Bramley's own exchange opens it: \(open)")
    #expect(try await phone.ask(grant.token).status == 200)
    #expect(try await phone.ask(grant.token).status == 200)
    #expect(try await Outcome(phone.ask(grant.token)) == Outcome(429, "quota_exceeded"))
    let renewed = try await ClaudeGrant(phone.exchange(grant.next))
    #expect(try await Outcome(phone.ask(renewed.token)) == Outcome(429, "quota_exceeded"))
    _ = try await server.keys.setBanned(true, phone.key)
    #expect(try await phone.ask(renewed.token).status == 403)
    #expect(try await phone.exchange(renewed.next).status == 403)
    _ = try await server.keys.revoke(phone.key)
    #expect(try await phone.ask(renewed.token).status == 401)
    #expect(try await phone.exchange(phone.challenge()).status == 401)
  }

  @Test("RULES §1.11: a revoked key registers no more, and that costs nobody's registrations")
  func revokedKey() async throws {
    let server = try await ClaudePhone.server { $0.attest.registrationsPerDay = 2 }
    let phone = try await ClaudePhone(server)
    let attestation = try await phone.attestation(phone.challenge())
    #expect(try await phone.register(attestation).status == 200)
    _ = try await server.keys.revoke(phone.key)
    for _ in 0..<5 {
      #expect(try await Outcome(phone.register(attestation)) == Outcome(401, "key_conflict"))
    }
    #expect(try await ClaudePhone(server).register().status == 200)
    #expect(try await ClaudePhone(server).register().status == 429)
  }

  @Test("a new secret leaves the challenges of the last, and another node's is learnt of")
  func rotation() async throws {
    let server = try await ClaudePhone.server()
    let other = try await ClaudePhone.server(on: server)
    let phone = try await ClaudePhone(server)
    let there = ClaudePhone(other, device: phone.device, keyID: phone.keyID)
    let grant = try await ClaudeGrant(phone.register())
    #expect(try await there.exchange(there.challenge()).status == 200, "nodes share the count")
    try await server.keys.rotateChallengeSecret(fresh: [UInt8](repeating: 9, count: 32))
    server.clock.advance(seconds: 61)
    let next = try await phone.challenge()
    #expect(next != grant.next)
    server.clock.advance(seconds: 1)
    #expect(try await there.exchange(next).status == 200)
  }
}
