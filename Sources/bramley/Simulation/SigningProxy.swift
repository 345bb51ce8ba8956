import BramleyClient
import Encodings
import HTTPMessages

/// Sends on what it gets, attested by a simulated phone.
struct SigningProxy: HTTPHandler {
  let client: BramleyClient

  /// Credentials, which are the client's own affair, and what belongs to one connection (RFC 9110 §7.6.1).
  private static let dropped = [
    "authorization", "x-api-key", "host", "connection", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect",
  ]
  /// What the server of this connection sets itself.
  private static let framing = ["connection", "keep-alive", "transfer-encoding", "content-length", "date"]

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    var request = request
    for name in Self.dropped { request.fields.remove(name) }
    do {
      var response = try await client.respond(to: request)
      for name in Self.framing { response.fields.remove(name) }
      return response
    } catch let error as CancellationError {
      throw error
    } catch {
      let body: JSONValue = [
        "type": "error", "error": ["type": "api_error", "message": .string("the signing proxy: \(error)")],
      ]
      return HTTPResponse(
        status: 502, fields: ["content-type": "application/json", "x-should-retry": "false"],
        body: HTTPBody(body.bytes))
    }
  }
}
