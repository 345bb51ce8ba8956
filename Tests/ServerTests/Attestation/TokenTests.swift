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

@Suite struct SessionTokenTests {
  private let invalid = Outcome(401, "invalid_session")

  private func token(_ phone: Phone, _ body: String = "") async throws -> String {
    let response = try await phone.token(body)
    #expect(response.status == 200)
    #expect(response.fields["cache-control"] == "no-store")
    let answer = try #require(SessionAnswer(body: try await response.body.collect(upTo: 1000)))
    #expect(answer.expiresIn == 600)
    #expect(answer.token.hasPrefix("bat_") && answer.token.utf8.count == 47)
    return answer.token
  }

  private func question(_ field: String, _ value: String, target: String = Phone.messages) -> HTTPRequest {
    var request = Phone.question(target: target)
    request.fields[field] = value
    return request
  }

  @Test("an assertion buys a token that official SDKs can carry, in any of three fields")
  func fields() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try await self.token(phone)
    for (field, value) in [
      ("x-attest-session", token), ("authorization", "Bearer \(token)"), ("authorization", "bearer \(token)"),
      ("x-api-key", token),
    ] {
      #expect(try await server.send(question(field, value)).status == 200)
    }
    for request in server.upstreamRequests.values {
      #expect(request.fields["x-api-key"] == WholeServer.apiKey)
      #expect(!"\(request.fields)".contains("bat_"), "the token is stripped before the upstream")
    }
    #expect(try await server.usage().allSatisfy { $0.keyID == phone.key })
    #expect(try await server.remaining(phone, "daily") == 96, "the same quota binds both")
  }

  @Test("RULES §1.8: a token opens its routes alone")
  func routes() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try await self.token(phone, #"{"routes":["/ai/anthropic/v1/messages"]}"#)
    #expect(try await server.send(question("x-api-key", token)).status == 200)
    let other = question("x-api-key", token, target: "/ai/anthropic/v1/messages/count_tokens")
    #expect(try await Outcome(server.send(other)) == invalid)
    let nowhere = try await phone.token(#"{"routes":["/attest/v1/keys"]}"#)
    #expect(try await Outcome(nowhere) == Outcome(400, "invalid_request"))
  }

  @Test("RULES §1.7: a route that asks for assertions takes no token")
  func policy() async throws {
    let server = try await WholeServer {
      $0.anthropic?.policy = .assertion
      $0.fal?.policy = .assertion
    }
    let phone = try await server.phone()
    #expect(try await Outcome(phone.token()) == Outcome(400, "invalid_request"))
    #expect(
      try await Outcome(server.send(question("x-api-key", "bat_" + String(repeating: "A", count: 43))))
        == Outcome(401, "attestation_required"))
    #expect(try await phone.ask().status == 200)
  }

  @Test("RULES §1.8: it ends after its time, with its key, and when two newer ones live")
  func ends() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let first = try await self.token(phone)
    let second = try await self.token(phone)
    let third = try await self.token(phone)
    #expect(try await Outcome(server.send(question("x-api-key", first))) == invalid)
    #expect(try await server.send(question("x-api-key", second)).status == 200)
    server.clock.advance(seconds: 600)
    #expect(try await Outcome(server.send(question("x-api-key", third))) == invalid)
    let fourth = try await self.token(phone)
    #expect(try await server.send(question("x-api-key", fourth)).status == 200)
    _ = try await server.keys.revoke(phone.key)
    let after = try await Outcome(server.send(question("x-api-key", fourth)))
    #expect(after.status == 401)
  }

  @Test("RULES §1.1: the exchange has a tag, a purpose and a use of its own")
  func exchange() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let request = HTTPRequest(method: .post, target: AttestTargets.token, peer: "192.0.2.1")
    let asRequest = try await phone.sign(request, challenge: server.challenge("token"))
    #expect(try await Outcome(server.send(asRequest)) == Outcome(401, "bad_signature"))
    let purpose = try await phone.sign(request, challenge: server.challenge("request"), token: true)
    #expect(try await Outcome(server.send(purpose)) == Outcome(401, "challenge_invalid"))
    let good = try await phone.sign(request, token: true)
    #expect(try await server.send(good).status == 200)
    #expect(try await Outcome(server.send(good)) == Outcome(401, "counter_replayed"))
    let challenge = good.fields[AttestFields.challenge]
    let again = try await phone.sign(request, challenge: challenge, token: true)
    #expect(try await Outcome(server.send(again)) == Outcome(401, "challenge_used"))
    #expect(try await Outcome(server.send(request)) == Outcome(401, "attestation_required"))
    let token = try await self.token(phone)
    var bought = request
    bought.fields["x-api-key"] = token
    #expect(try await Outcome(server.send(bought)) == Outcome(401, "attestation_required"))
  }

  @Test(
    "what is no token is none",
    arguments: [
      "bat_", "bat_x", "bat_" + String(repeating: "A", count: 43),
      "bat_" + String(repeating: "A", count: 9000),
    ])
  func strangers(_ token: String) async throws {
    let server = try await WholeServer()
    #expect(try await Outcome(server.send(question("authorization", "Bearer \(token)"))) == invalid)
    #expect(try await Outcome(server.send(question("x-attest-session", "sk-ant-other"))) == invalid)
    #expect(
      try await Outcome(server.send(question("x-api-key", "sk-ant-other")))
        == Outcome(401, "attestation_required"))
    #expect(server.upstreamRequests.values.isEmpty)
  }
}

@Suite struct DebugTokenTests {
  private func create(_ server: WholeServer, _ name: String, seconds: Int64 = 3600) async throws -> String {
    let token = try #require(Token.debug(name: name, random: Array(repeating: 7, count: 32)))
    let made = try await server.debugTokens.createDebugToken(
      name: name, hash: Token.hash(token), expiry: server.clock.seconds + seconds, now: server.clock.seconds)
    #expect(made)
    return token
  }

  private func question(_ token: String) -> HTTPRequest {
    var request = Phone.question()
    request.fields["authorization"] = "Bearer \(token)"
    return request
  }

  @Test("production takes listed names alone, also where the policy asks for assertions")
  func production() async throws {
    let server = try await WholeServer {
      $0.debugTokens.allowed = ["ci"]
      $0.anthropic?.policy = .assertion
    }
    let listed = try await create(server, "ci")
    let other = try await create(server, "anna")
    #expect(try await server.send(question(listed)).status == 200)
    #expect(try await Outcome(server.send(question(other))) == Outcome(401, "invalid_session"))
    #expect(server.lines.values.contains { $0.contains("debug_token_used") && $0.contains("\"ci\"") })
    #expect(!server.lines.values.joined().contains(listed))
    // A listed name before another token's random part is another token.
    let forged = "bdt_ci_" + other.dropFirst("bdt_anna_".utf8.count)
    #expect(try await Outcome(server.send(question(forged + "x"))) == Outcome(401, "invalid_session"))
  }

  @Test("outside of production every live token counts, until it ends or is revoked")
  func development() async throws {
    let server = try await WholeServer { $0.deployment = .development }
    let token = try await create(server, "anna", seconds: 60)
    #expect(try await server.send(question(token)).status == 200)
    server.clock.advance(seconds: 60)
    #expect(try await Outcome(server.send(question(token))) == Outcome(401, "invalid_session"))
    let next = try await create(server, "bert")
    _ = try await server.debugTokens.revokeDebugToken(name: "bert")
    #expect(try await Outcome(server.send(question(next))) == Outcome(401, "invalid_session"))
  }

  @Test("a token has a small quota of its own, beside the common ones")
  func quota() async throws {
    let server = try await WholeServer {
      $0.deployment = .development
      $0.debugTokens.daily = 2
    }
    let token = try await create(server, "anna")
    let first = try await server.send(question(token))
    #expect(first.fields["ratelimit"]?.contains("\"debug-daily\";r=1") == true)
    #expect(try await server.send(question(token)).status == 200)
    #expect(try await Outcome(server.send(question(token))) == Outcome(429, "quota_exceeded"))
  }
}
