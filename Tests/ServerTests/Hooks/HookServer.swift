import BramleyTesting
import Encodings
import HTTPMessages
import Synchronization
import Testing

@testable import Server

/// What stands in the place of an app's backend: answers each hook as it is told, and keeps what it was asked.
final class HookBackend: Sendable {
  typealias Answer = @Sendable (JSONNode) async throws -> HTTPResponse

  static let secret = "whsec_" + Base64.encode([UInt8](repeating: 9, count: 32))
  let asked = Recorder<(path: String, body: JSONNode, request: HTTPRequest)>()
  private let answers = Mutex<[String: Answer]>([:])

  /// Answers that hook so from now on.
  func answer(_ name: String, _ answer: @escaping Answer) { answers.withLock { $0["/" + name] = answer } }

  func answer(_ name: String, _ status: Int, _ text: String) {
    answer(name) { _ in Self.json(status, text) }
  }

  func answer(_ name: String, _ text: String) { answer(name, 200, text) }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let body = try JSONReader.read(try await request.body.collect(upTo: 1 << 20))
    asked.append((request.target, body, request))
    guard let answer = answers.withLock({ $0[request.target] }) else {
      return HTTPResponse(status: 204)
    }
    return try await answer(body)
  }

  /// How often the hook was asked.
  func count(_ name: String) -> Int { asked.values.count { $0.path == "/" + name } }

  /// Configures these hooks.
  static func configure(_ names: [String], _ configuration: inout Configuration) {
    for name in names {
      let target = WebhookTarget(
        "https://backend.example/\(name)", secrets: WebhookSecret.list(secret) ?? [])
      if name == "before_user_created" { configuration.hooks.beforeUserCreated = target }
      if name == "custom_access_token" { configuration.hooks.customAccessToken = target }
    }
  }

  /// An answer of `custom_access_token` with more claims, and others for those that are there.
  static func claims(_ body: JSONNode, _ more: [(String, JSONValue)]) -> HTTPResponse {
    var members: [(String, JSONValue)] = []
    if case .object(let claims)? = body["claims"]?.value { members = claims }
    for (name, value) in more {
      members.removeAll { $0.0 == name }
      members.append((name, value))
    }
    return HTTPResponse(
      status: 200, fields: ["Content-Type": "application/json; charset=utf-8"],
      body: HTTPBody(JSONValue.object([("claims", .object(members))]).text))
  }

  /// Every way in which a hook gives no answer.
  static let failures: [(String, Answer)] = [
    ("hangs", { _ in throw HTTPClientError.timedOut(.total) }),
    ("is not there", { _ in throw HTTPClientError.connect }),
    ("is at a private address", { _ in throw HTTPClientError.addressForbidden }),
    ("breaks", { _ in HTTPResponse(status: 500, body: HTTPBody("{}")) }),
    ("is busy", { _ in HTTPResponse(status: 429, fields: ["Retry-After": "1"]) }),
    ("does not know us", { _ in json(401, "{}") }), ("speaks no JSON", { _ in json(200, "OK") }),
    ("says it in HTML", { _ in json(200, "{}", type: "text/html") }),
    ("says a list", { _ in json(200, "[]") }),
    ("says a name twice", { _ in json(200, #"{"claims":{},"claims":{}}"#) }),
    ("is cut off", { _ in json(200, #"{"claims":{"#) }),
    ("sends elsewhere", { _ in HTTPResponse(status: 302, fields: ["Location": "https://backend.example/"]) }),
    (
      "says too much",
      { _ in json(200, #"{"x":""# + String(repeating: "x", count: HookClient.answerLimit) + #""}"#) }
    ),
  ]

  private static func json(_ status: Int, _ text: String, type: String = "application/json") -> HTTPResponse {
    HTTPResponse(status: status, fields: ["Content-Type": type], body: HTTPBody(text))
  }
}
