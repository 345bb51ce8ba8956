import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("What Anthropic's App Attest flow refuses") struct AnthropicFlowRefusalTests {
  @Test("the routes are there only where an app has a client id and Anthropic's routes take tokens")
  func absent() async throws {
    for server in [
      try await WholeServer(),
      try await ClaudePhone.server { $0.anthropic?.policy = .assertion },
      try await ClaudePhone.server { $0.anthropic = nil },
    ] {
      let phone = try await ClaudePhone(server)
      #expect(try await phone.askChallenge().status == 404)
      #expect(try await phone.register([1]).status == 404)
      #expect(try await phone.exchange(FormParameters()).status == 404)
    }
  }

  @Test("what is no request of the flow is a clear error in Anthropic's envelope, and changes nothing")
  func malformed() async throws {
    let server = try await ClaudePhone.server()
    let phone = try await ClaudePhone(server)
    let grant = try await ClaudeGrant(phone.register())
    let form = try await phone.form(phone.assertion(grant.next)).text
    let long = String(repeating: "A", count: 30_000)
    for (path, body, status) in [
      ("app-attest/challenge", "", 400), ("app-attest/challenge", "[]", 400),
      ("app-attest/challenge", #"{"client_id":"clid_example"}"#, 400),
      ("app-attest/challenge", #"{"client_id":"clid_example","key_id":"AAAA"}"#, 400),
      (
        "app-attest/challenge", #"{"client_id":"clid_example","client_id":"x","key_id":"\#(phone.keyID)"}"#,
        400
      ),
      ("app-attest/challenge", #"{"client_id":"\#(long)"}"#, 413),
      ("app-attest/register", #"{"client_id":"clid_example","key_id":"\#(phone.keyID)"}"#, 400),
      (
        "app-attest/register",
        #"{"client_id":"clid_example","key_id":"\#(phone.keyID)","attestation_object":"*"}"#, 400
      ),
      ("token", "", 400), ("token", form.replacing("app-attest", with: "client_credentials"), 400),
      ("token", form + "&client_id=clid_other", 400), ("token", form.replacing("key_id", with: "key"), 400),
      ("token", form.replacing("assertion=", with: "assertion=AAAA&x="), 401), ("token", "%zz", 400),
      ("token", "assertion=" + long, 413),
    ] {
      let response = try await phone.post(path, Array(body.utf8))
      #expect(response.status == status, "\(path) \(body.prefix(90))")
      #expect(try await response.json["type"]?.string == "error")
    }
    var packed = HTTPRequest(
      method: .post, target: AnthropicAttest.token, fields: ["content-encoding": "gzip"],
      body: HTTPBody(form),
      peer: "192.0.2.1")
    #expect(try await server.send(packed).status == 415)
    packed.method = .get
    #expect(try await server.send(packed).status == 405)
    #expect(try await phone.exchange(grant.next).status == 200, "nothing was used up")
  }

  @Test("one address fetches and registers at its rate alone, and does not use up the other flow's")
  func limits() async throws {
    let server = try await ClaudePhone.server {
      $0.attest.registrationsPerHour = 2
      $0.attest.challengesPerMinute = 12
    }
    var phone = try await ClaudePhone(server)
    let attestation = try await phone.attestation(phone.challenge())
    for _ in 0..<2 { #expect(try await phone.register([0]).status == 400) }
    let third = try await phone.register(attestation)
    #expect(try await Outcome(third) == Outcome(429, "rate_limited"))
    #expect(third.fields["retry-after"] != nil)
    #expect(try await Phone(server).register().status == 201)
    phone.address = "192.0.2.77"
    #expect(try await phone.register(attestation).status == 200)
    var refused = 0
    for _ in 0..<20 where try await phone.askChallenge().status == 429 { refused += 1 }
    #expect(refused > 0)
  }
}
