import BramleyAPI
import BramleyClient
import Encodings
import HTTPMessages

/// What a simulated phone asks of the accounts' routes.
enum AccountCall {
  /// `POST /auth/v1/token`, attested, so that the session is one of the phone's key.
  static func token(
    _ phone: SimulatedPhone, grant: String, _ members: [(String, JSONValue)], bearer: String?
  ) async throws -> JSONNode {
    try await post(phone, AccountTargets.token + "?grant_type=\(grant)", members, bearer: bearer)
  }

  /// An attested request.
  static func post(
    _ phone: SimulatedPhone, _ target: String, _ members: [(String, JSONValue)], bearer: String? = nil
  ) async throws -> JSONNode {
    try await read(
      try await phone.client.respond(to: request(target, .object(members), bearer: bearer)), of: target)
  }

  /// A request without evidence.
  static func plain(
    _ phone: SimulatedPhone, method: HTTPMethod = .post, _ target: String, _ body: JSONValue? = nil,
    bearer: String? = nil
  ) async throws -> JSONNode {
    var request = request(target, body ?? [:], bearer: bearer)
    request.method = method
    if body == nil { request.body = .empty }
    return try await read(try await phone.sendPlain(request), of: target)
  }

  private static func request(_ target: String, _ body: JSONValue, bearer: String?) -> HTTPRequest {
    var fields: HTTPFields = ["content-type": "application/json", "x-supabase-api-version": "2024-01-01"]
    if let bearer { fields["authorization"] = "Bearer \(bearer)" }
    return HTTPRequest(method: .post, target: target, fields: fields, body: HTTPBody(body.bytes))
  }

  /// The answer; another status than 200 is a failure with the server's code.
  private static func read(_ response: HTTPResponse, of target: String) async throws -> JSONNode {
    let octets = try await response.body.collect(upTo: 1 << 20)
    let node = try? JSONReader.read(octets)
    guard response.status == 200, let node else {
      let code = node?["code"]?.string ?? node?["error"]?.string ?? "no code"
      let message = node?["message"]?.string ?? node?["error_description"]?.string ?? ""
      throw CommandFailure(
        message: "\(target.prefix { $0 != "?" }): \(code) (\(response.status)) \(message)")
    }
    return node
  }
}
