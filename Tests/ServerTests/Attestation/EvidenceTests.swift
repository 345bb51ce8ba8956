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

@Suite struct EvidenceTests {
  private func expect(
    _ server: WholeServer, _ request: HTTPRequest, _ outcome: Outcome,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let calls = server.upstreamRequests.values.count
    let response = try await server.send(request)
    #expect(try await Outcome(response) == outcome, sourceLocation: location)
    #expect(response.fields[AttestFields.nextChallenge] != nil, sourceLocation: location)
    #expect(
      server.upstreamRequests.values.count == calls, "the provider was called", sourceLocation: location)
  }

  @Test("RULES §1.1: every part of the binding binds")
  func binding() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let bad = Outcome(401, "bad_signature")

    var body = try await phone.sign(Phone.question())
    body.body = Phone.question("another question").body
    try await expect(server, body, bad)

    var target = try await phone.sign(Phone.question())
    target.target = "/ai/anthropic/v1/messages?beta=true"
    try await expect(server, target, bad)
    target.target = "/ai/anthropic/v1/messages/count_tokens"
    try await expect(server, target, bad)

    var authorization = try await phone.sign(Phone.question())
    authorization.fields["authorization"] = "Bearer user-token"
    try await expect(server, authorization, bad)

    var challenge = try await phone.sign(Phone.question())
    challenge.fields[AttestFields.challenge] = try await server.challenge()
    try await expect(server, challenge, bad)

    var audience = phone
    audience.audience = "https://other.example"
    try await expect(server, try await audience.sign(Phone.question()), bad)

    let token = try await phone.sign(Phone.question(), challenge: try await server.challenge(), token: true)
    try await expect(server, token, bad)

    let other = try await server.phone()
    var key = try await phone.sign(Phone.question())
    key.fields[AttestFields.keyID] = other.keyID
    try await expect(server, key, bad)
    #expect(try await phone.ask().status == 200, "the counters of refused signatures are not used up")
  }

  @Test("RULES §1.2: the audience is the client's, whatever Host says")
  func audience() async throws {
    let server = try await WholeServer()
    var phone = try await server.phone()
    var request = try await phone.sign(Phone.question())
    request.authority = "evil.example"
    request.fields["host"] = "evil.example"
    request.fields["x-forwarded-host"] = "evil.example"
    #expect(try await server.send(request).status == 200)
    phone.audience = "https://eu.example.com/base"
    #expect(try await phone.ask().status == 200)
    phone.audience = "http://evil.example"
    var host = try await phone.sign(Phone.question())
    host.authority = "evil.example"
    try await expect(server, host, Outcome(401, "bad_signature"))
  }

  @Test("a stranger's body is not read")
  func unread() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    final class Unread: HTTPBodyStream {
      let pulls = Counter()
      func next() async throws -> [UInt8]? {
        pulls.add()
        return nil
      }
      func cancel() {}
    }
    let signed = try await phone.sign(Phone.question())
    let body = Unread()
    for (name, value) in [
      (AttestFields.challenge, "AAAA"), (AttestFields.keyID, Base64.encode([UInt8](repeating: 7, count: 32))),
      ("content-encoding", "gzip"), ("x-api-key", "bat_x"),
    ] {
      var request = signed
      request.fields[name] = value
      request.body = HTTPBody(stream: body)
      #expect(try await server.send(request).status >= 400)
    }
    let stale = try #require(Token.debug(name: "me", random: [UInt8](repeating: 1, count: 32)))
    for token in ["bat_x", Token.session(random: [UInt8](repeating: 1, count: 32)), stale] {
      var request = Phone.question()
      request.fields["x-api-key"] = token
      request.body = HTTPBody(stream: body)
      #expect(try await server.send(request).status == 401)
    }
    #expect(body.pulls.value == 0)
  }

  @Test("the bearer that was signed with passes")
  func bearer() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var request = Phone.question()
    request.fields["authorization"] = "Bearer user-token"
    #expect(try await server.send(try await phone.sign(request)).status == 200)
    let sent = try #require(server.upstreamRequests.values.first)
    #expect(sent.fields["authorization"] == nil)
    #expect(sent.fields["x-api-key"] == WholeServer.apiKey)
  }

  @Test("key ids and assertions in any base64 spelling")
  func spellings() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var request = try await phone.sign(Phone.question())
    request.fields[AttestFields.keyID] = Base64.encodeURL(phone.key)
    request.fields[AttestFields.assertion] = (request.fields[AttestFields.assertion] ?? "")
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    #expect(try await server.send(request).status == 200)
  }

  @Test("what is no evidence is told apart")
  func malformed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    try await expect(server, Phone.question(), Outcome(401, "attestation_required"))

    var unknown = try await Phone(server)
    unknown.audience = WholeServer.audience
    _ = try await unknown.registration()
    try await expect(server, try await unknown.sign(Phone.question()), Outcome(401, "unknown_key"))

    let signed = try await phone.sign(Phone.question())
    for (name, value, outcome) in [
      (AttestFields.keyID, "AAAA", Outcome(400, "invalid_request")),
      (AttestFields.keyID, "%%%", Outcome(400, "invalid_request")),
      (AttestFields.assertion, "", Outcome(401, "invalid_assertion")),
      (AttestFields.assertion, "oA==", Outcome(401, "invalid_assertion")),
      (AttestFields.assertion, String(repeating: "A", count: 8_000), Outcome(401, "invalid_assertion")),
      (AttestFields.challenge, "AAAA", Outcome(401, "challenge_invalid")),
    ] {
      var request = signed
      request.fields[name] = value
      try await expect(server, request, outcome)
    }
    for name in [AttestFields.keyID, AttestFields.assertion, AttestFields.challenge] {
      var missing = signed
      missing.fields.remove(name)
      try await expect(server, missing, Outcome(400, "invalid_request"))
      var double = signed
      double.fields.append(name, signed.fields[name] ?? "")
      try await expect(server, double, Outcome(400, "invalid_request"))
    }
    #expect(try await server.send(signed).status == 200)
  }

  @Test("more than one kind of evidence is refused")
  func several() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(SessionAnswer(body: try await phone.token().body.collect(upTo: 1000))?.token)
    let refused = Outcome(400, "invalid_request")
    var both = Phone.question()
    both.fields["authorization"] = "Bearer \(token)"
    try await expect(server, try await phone.sign(both), refused)
    var session = try await phone.sign(Phone.question())
    session.fields[AttestFields.session] = token
    try await expect(server, session, refused)
    var twice = Phone.question()
    twice.fields["authorization"] = "Bearer \(token)"
    twice.fields["x-api-key"] = token
    try await expect(server, twice, refused)
    var double = Phone.question()
    double.fields.append("authorization", "Bearer \(token)")
    double.fields.append("authorization", "Bearer \(token)")
    try await expect(server, double, refused)
  }

  @Test("RULES §1.2: a Content-Encoding on an attested request is 415")
  func encoding() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for coding in ["gzip", "identity", ""] {
      var request = Phone.question()
      request.fields["content-encoding"] = coding
      try await expect(server, try await phone.sign(request), Outcome(415, "unsupported_media_type"))
    }
  }

  @Test("challenges end, and hold for their purpose alone")
  func challenges() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let old = try await phone.sign(Phone.question())
    let purpose = try await phone.sign(Phone.question(), challenge: server.challenge("token"))
    try await expect(server, purpose, Outcome(401, "challenge_invalid"))
    server.clock.advance(seconds: 300)
    try await expect(server, old, Outcome(401, "challenge_expired"))
    let other = try await WholeServer()
    let foreign = try await phone.sign(Phone.question(), challenge: other.challenge())
    try await expect(server, foreign, Outcome(401, "challenge_invalid"))
  }

  @Test("the challenge that an answer brings is good for the next request")
  func nextChallenge() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var response = try await phone.ask()
    for _ in 0..<3 {
      let next = try #require(response.fields[AttestFields.nextChallenge])
      response = try await server.send(try await phone.sign(Phone.question(), challenge: next))
      #expect(response.status == 200)
    }
  }

  @Test("RULES §1.6: a key is judged by today's configuration")
  func today() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await server.keys.setBanned(true, phone.key)
    try await expect(server, try await phone.sign(Phone.question()), Outcome(403, "key_revoked"))
    _ = try await server.keys.setBanned(false, phone.key)
    #expect(try await phone.ask().status == 200)
    _ = try await server.keys.revoke(phone.key)
    try await expect(server, try await phone.sign(Phone.question()), Outcome(401, "unknown_key"))
  }
}
