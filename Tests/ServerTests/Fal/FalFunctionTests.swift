import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("Functions that draw") struct FalFunctionTests {
  private func functions() throws -> [Configuration.Function] {
    let text = #"""
      { "providers": { "fal": { "api_key": { "env": "F" }, "models": ["fal-ai/flux/schnell"] } },
        "functions": { "creature": {
          "provider": "fal", "model": "fal-ai/flux/schnell", "kind": "image",
          "template": "A creature called {{name}}.", "input": { "name": { "type": "string", "max_length": 400 } },
          "parameters": { "image_size": "square", "num_images": 1 }, "policy": "session" } } }
      """#
    return try Configuration.read(
      ConfigurationSources(text: Array(text.utf8), variables: ["F": "id:secret"])
    ).functions
  }

  @Test("a picture by a prompt that stays on the server, booked as fal bills it")
  func picture() async throws {
    let functions = try functions()
    let server = try await WholeServer { $0.functions = functions }
    let phone = try await server.phone()
    func ask(_ name: String) async throws -> HTTPResponse {
      try await server.send(
        try await phone.sign(
          HTTPRequest(
            method: .post, target: "/functions/v1/creature", fields: ["content-type": "application/json"],
            body: HTTPBody(JSONValue.object([("name", .string(name))]).bytes), peer: "192.0.2.1")))
    }
    let response = try await ask("Mo")
    #expect(response.status == 200)
    #expect(try await response.text.contains("https://v3.fal.media/"))
    let sent = try #require(server.upstreamRequests.values.first)
    let body = try JSONReader.read(try await sent.body.collect(upTo: 10_000))
    #expect(sent.authority == "fal.run" && sent.target == "/fal-ai/flux/schnell")
    #expect(body["prompt"]?.string?.contains("Mo") == true && body["image_size"]?.string == "square")
    #expect(try await ask("[simulate: error 500]").status == 502)
    let booked = try await server.booked()
    #expect(booked.rows == WholeServer.falPrice && booked.line == server.falBill && booked.held == 0)
  }
}
