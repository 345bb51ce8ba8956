import AppleSimulator
import BramleyAPI
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("fal's clients that send everything to one URL") struct FalProxyTests {
  private func send(
    _ server: WholeServer, _ token: String, _ method: HTTPMethod, _ targets: [String], body: String = "",
    path: String = "/ai/fal/proxy"
  ) async throws -> HTTPResponse {
    var fields: HTTPFields = ["authorization": "Key " + token, "content-type": "application/json"]
    for target in targets { fields.append("x-fal-target-url", target) }
    return try await server.send(
      HTTPRequest(method: method, target: path, fields: fields, body: HTTPBody(body), peer: "192.0.2.1"))
  }

  @Test("what fal-swift does: directly, and by the queue, with a session token as its key")
  func whole() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    let body = #"{"prompt":"a cat"}"#
    let direct = try await send(server, token, .post, ["https://fal.run/fal-ai/flux/schnell"], body: body)
    #expect(direct.status == 200)
    #expect(try await direct.json["images"]?.elements?.count == 1)
    let receipt = try await send(
      server, token, .post, ["https://queue.fal.run/fal-ai/flux/schnell"], body: body)
    let id = try #require(try await receipt.json["request_id"]?.string)
    let call = "https://queue.fal.run/fal-ai/flux/requests/" + id
    var status = 202
    for _ in 0..<9 where status == 202 {
      status = try await send(server, token, .get, [call + "/status?logs=1"]).status
    }
    #expect(status == 200)
    #expect(try await send(server, token, .get, [call]).json["images"]?.elements?.count == 1)
    #expect(try await send(server, token, .put, [call + "/cancel"]).status == 400)
    let booked = try await server.booked()
    #expect(booked.rows == server.falBill && booked.line == server.falBill && booked.held == 0)
    #expect(server.lines.values.contains { $0.contains("\"route\":\"/ai/fal/queue/fal-ai/flux/schnell\"") })
    #expect(server.upstreamRequests.values.allSatisfy { $0.fields["x-fal-target-url"] == nil })
  }

  @Test(
    "other hosts, schemes, ports, users and spellings are nobody's",
    arguments: [
      "https://rest.alpha.fal.ai/storage/upload/initiate", "https://rest.fal.ai/tokens/",
      "http://fal.run/fal-ai/flux/schnell", "https://fal.run:443/fal-ai/flux/schnell",
      "https://fal.run.evil.example/fal-ai/flux/schnell", "https://evil.example/https://fal.run/",
      "https://user@fal.run/fal-ai/flux/schnell", "https://FAL.run/fal-ai/flux/schnell", "https://fal.run",
      "//fal.run/fal-ai/flux/schnell", "/ai/anthropic/v1/messages", "https://fal.run/fal-ai/flux/schnell#x",
      "https://fal.run/fal-ai/flux/schn\u{E9}ll", "",
    ])
  func refused(_ target: String) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    let response = try await send(server, token, .post, [target], body: #"{"prompt":"a"}"#)
    #expect(try await Outcome(response) == Outcome(400, "target_not_allowed"))
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("paths that climb out of fal's routes, two targets, a query of its own, no target")
  func climbing() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    for path in ["../../anthropic/v1/messages", "/../x", "fal-ai/flux/dev", "%2e%2e/anthropic", ""] {
      let response = try await send(server, token, .post, ["https://fal.run/" + path], body: "{}")
      #expect(response.status == 404, "\(path)")
    }
    let target = "https://fal.run/fal-ai/flux/schnell"
    #expect(try await send(server, token, .post, [target, target]).status == 400)
    #expect(try await send(server, token, .post, []).status == 400)
    #expect(try await send(server, token, .post, [target], path: "/ai/fal/proxy?x=1").status == 400)
    #expect(try await send(server, token, .delete, [target]).status == 405)
    #expect(
      try await send(server, token, .post, [target + "?fal_webhook=https://evil.example"], body: "{}").status
        == 400)
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §1.2: a route whose target stands in a header takes no assertion")
  func assertion() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var request = Phone.picture("a cat", target: "/ai/fal/proxy")
    request.fields["x-fal-target-url"] = "https://fal.run/fal-ai/flux/schnell"
    #expect(try await Outcome(server.send(phone.sign(request))) == Outcome(400, "invalid_request"))
    #expect(try await Outcome(server.send(request)) == Outcome(401, "attestation_required"))
    let strict = try await WholeServer { $0.fal?.policy = .assertion }
    let other = try await strict.phone()
    #expect(try await Outcome(strict.send(other.sign(request))) == Outcome(404, "not_found"))
    #expect(server.upstreamRequests.values.isEmpty && strict.upstreamRequests.values.isEmpty)
  }
}
