import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@Suite("The simulated Anthropic refuses")
struct RefusalTests {
  let twin = Twin()

  func failure(_ response: HTTPResponse) async throws -> (status: Int, type: String, message: String) {
    let body = try await read(response)
    #expect(body["type"]?.string == "error")
    #expect(body["request_id"]?.string == response.fields["request-id"])
    return (
      response.status, body["error"]?["type"]?.string ?? "", body["error"]?["message"]?.string ?? ""
    )
  }

  @Test(
    "credentials and versions",
    arguments: [
      ([("anthropic-version", "2023-06-01")], 401, "authentication_error"),
      ([("x-api-key", "wrong"), ("anthropic-version", "2023-06-01")], 401, "authentication_error"),
      (
        [("authorization", "Bearer wrong"), ("anthropic-version", "2023-06-01")], 401, "authentication_error"
      ),
      ([("x-api-key", Twin.key)], 400, "invalid_request_error"),
      ([("x-api-key", Twin.key), ("anthropic-version", "1999-01-01")], 400, "invalid_request_error"),
    ] as [([(String, String)], Int, String)])
  func credentials(fields: [(String, String)], status: Int, type: String) async throws {
    let response = try await twin.post("{}", fields: HTTPFields(fields))
    let failure = try await failure(response)
    #expect(failure.status == status)
    #expect(failure.type == type)
    #expect(!failure.message.contains("wrong"))
    #expect(twin.anthropic.billing.inputTokens == 0)
  }

  @Test(
    "bodies that the real API refuses",
    arguments: [
      ("", 400), ("[]", 400), ("{}", 400), (#"{"model":"claude-haiku-4-5"}"#, 400),
      (#"{"model":"gpt-9","max_tokens":1,"messages":[{"role":"user","content":"x"}]}"#, 404),
      (#"{"model":"claude-haiku-4-5","max_tokens":-1,"messages":[{"role":"user","content":"x"}]}"#, 400),
      (#"{"model":"claude-haiku-4-5","max_tokens":64001,"messages":[{"role":"user","content":"x"}]}"#, 400),
      (#"{"model":"claude-haiku-4-5","max_tokens":1e3,"messages":[{"role":"user","content":"x"}]}"#, 400),
      (#"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[]}"#, 400),
      (#"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"system","content":"x"}]}"#, 400),
      (#"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user"}]}"#, 400),
      (
        #"{"model":"claude-haiku-4-5","max_tokens":1,"zzz":1,"messages":[{"role":"user","content":"x"}]}"#,
        400
      ),
      (#"{"model":"claude-haiku-4-5","max_tokens":1,"max_tokens":2,"messages":[]}"#, 400),
    ])
  func bodies(body: String, status: Int) async throws {
    let failure = try await failure(try await twin.post(body))
    #expect(failure.status == status)
    #expect(twin.anthropic.billing.refusals == 1)
    #expect(twin.anthropic.billing.inputTokens == 0)
  }

  @Test("the newest version takes no temperature")
  func version() async throws {
    let body = """
      {"model":"claude-haiku-4-5","max_tokens":1,"temperature":1,"messages":[{"role":"user","content":"x"}]}
      """
    #expect(try await twin.post(body).status == 200)
    let newest: HTTPFields = ["authorization": "Bearer \(Twin.key)", "anthropic-version": "2026-10-21"]
    #expect(try await twin.post(body, fields: newest).status == 400)
  }

  @Test("other paths and methods")
  func routes() async throws {
    #expect(try await twin.post("{}", to: "/v1/files").status == 404)
    let fields: HTTPFields = ["x-api-key": Twin.key, "anthropic-version": "2023-06-01"]
    let get = HTTPRequest(method: .get, target: "/v1/messages", fields: fields)
    #expect(try await twin.anthropic.respond(to: get).status == 405)
  }

  @Test(
    "a misspelt instruction is noticed",
    arguments: ["eror 529", "error", "error 200", "", "bytes 0", "delay 5"])
  func misspelt(instruction: String) async throws {
    let failure = try await failure(try await twin.ask("x [simulate: \(instruction)]"))
    #expect(failure.status == 400)
    #expect(failure.message.contains("simulation instruction"))
  }
}
