import BramleyAPI
public import Encodings
import HTTPMessages

extension BramleyClient {
  /// Calls a function of the server and returns its whole answer.
  ///
  /// The call carries an `Idempotency-Key`: where the connection breaks it is sent once more, and the server answers
  /// with what the first attempt came to, without charging it twice. It goes on at the server when this task is
  /// cancelled.
  ///
  /// - Parameters:
  ///   - name: as the server's configuration has it.
  ///   - input: the function's fields: `["meal": "a bowl of soup"]`.
  ///   - accessToken: the user's, for functions that ask for one.
  ///   - idempotencyKey: 16 characters or more that no other call has; a random one if it is nil.
  ///   - evidence: how the request proves where it comes from.
  /// - Throws: ``BramleyError`` when the server refuses, and the transport's errors as they are.
  public func callFunction(
    _ name: String, _ input: JSONValue = [:], accessToken: String? = nil, idempotencyKey: String? = nil,
    with evidence: Evidence = .assertion
  ) async throws -> FunctionAnswer {
    let key = idempotencyKey ?? Self.randomKey()
    do {
      return try await streamFunction(
        name, input, accessToken: accessToken, idempotencyKey: key, with: evidence
      ).answer()
    } catch let error where Self.isBreak(error) && !Task.isCancelled {
      return try await streamFunction(
        name, input, accessToken: accessToken, idempotencyKey: key, with: evidence
      ).answer()
    }
  }

  /// Calls a function of the server and gives its answer as it comes. Whoever stops reading ends the call, unless it
  /// has an idempotency key.
  public func streamFunction(
    _ name: String, _ input: JSONValue = [:], accessToken: String? = nil, idempotencyKey: String? = nil,
    with evidence: Evidence = .assertion
  ) async throws -> FunctionStream {
    var request = HTTPRequest(
      method: .post, target: "/functions/v1/\(name)",
      fields: ["content-type": "application/json", "accept": "application/json, text/event-stream"],
      body: HTTPBody(input.bytes))
    if let accessToken { request.fields["authorization"] = "Bearer \(accessToken)" }
    if let idempotencyKey { request.fields["idempotency-key"] = idempotencyKey }
    let response = try await respond(to: request, with: evidence)
    guard (200..<300).contains(response.status) else {
      throw BramleyError(response, body: await response.errorBody())
    }
    return FunctionStream(response)
  }

  /// Whether the answer broke off on its way: nothing that the server said.
  private static func isBreak(_ error: any Error) -> Bool {
    guard let error = error as? BramleyError else { return !(error is CancellationError) }
    return error.code == .incompleteAnswer
  }

  private static func randomKey() -> String {
    Hex.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
  }
}
