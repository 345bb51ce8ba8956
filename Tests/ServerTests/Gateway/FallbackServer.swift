import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// A whole server with functions that Claude answers, and GPT where Claude fails.
struct FallbackServer: Sendable {
  static let functions = #"""
    { "functions": {
      "name": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 20, "policy": "session",
        "fallbacks": [{ "provider": "openai", "model": "gpt-4.1-mini" }],
        "template": "Name a creature: {{mood}}.", "input": { "mood": { "type": "string", "max_length": 200 } }
      },
      "told": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 20, "result": "stream",
        "fallbacks": [{ "provider": "openai", "model": "gpt-4.1-mini" }],
        "template": "Tell of {{mood}}.", "input": { "mood": { "type": "string", "max_length": 200 } }
      },
      "twice": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 20,
        "fallbacks": [
          { "provider": "anthropic", "model": "claude-sonnet-5-5" }, { "provider": "openai", "model": "gpt-4.1-mini" }
        ],
        "template": "Name a creature: {{mood}}.", "input": { "mood": { "type": "string", "max_length": 200 } }
      }
    } }
    """#

  let server: WholeServer

  /// - Parameter upstream: answers in a provider's place, where it does.
  init(
    _ change: @escaping (inout Configuration) -> Void = { _ in },
    upstream: (@Sendable (HTTPRequest) async throws -> HTTPResponse?)? = nil
  ) async throws {
    let functions = try Self.configured().functions
    server = try await WholeServer(
      {
        $0.openAI = Self.openAI
        $0.functions = functions
        $0.budgets = [.init(name: "money", subject: .everyone, limit: 1_000_000_000_000)]
        change(&$0)
      }, upstream: upstream)
  }

  static var openAI: Configuration.OpenAI {
    var provider = Configuration.OpenAI(apiKey: Secret(OpenAIServer.key))
    provider.models = ["gpt-4.1-mini"]
    return provider
  }

  private static func configured() throws -> Configuration {
    var configuration = Configuration()
    configuration.openAI = openAI
    var provider = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    provider.models = ["claude-haiku-4-5"]
    configuration.anthropic = provider
    try configuration.add(functions: functions)
    return configuration
  }

  func call(_ phone: Phone, _ mood: String = "shy", _ name: String = "name", key: String? = nil) async throws
    -> HTTPResponse
  {
    var request = Phone.call(name, JSONValue.object([("mood", .string(mood))]).text)
    if let key { request.fields["idempotency-key"] = key }
    return try await server.send(try await phone.sign(request))
  }

  /// Who was asked, in order.
  var asked: [String] {
    server.upstreamRequests.values.map { $0.authority == "api.openai.com" ? "openai" : "anthropic" }
  }

  /// What is used and held under a rule, of everyone.
  func line(_ rule: String) async throws -> [Int64] {
    await server.background.drain()
    return try await server.database.read { transaction in
      try await transaction.first(
        """
        select coalesce(sum(used), 0), coalesce(sum(held), 0) from lines l join rules r on r.id = l.rule
        where r.name = $1
        """, [.text(rule)]
      ) { [$0.int64(0), $0.int64(1)] } ?? [0, 0]
    }
  }
}
