import BramleyAPI
import Encodings
import HTTPMessages

/// A turn of a conversation.
public struct ConversationTurn: Sendable, Equatable {
  /// Whose turn it is.
  public enum Role: String, Sendable {
    /// The person's.
    case user
    /// The model's.
    case assistant
  }

  /// Whose turn it is.
  public var role: Role
  /// What is said.
  public var text: String

  /// A turn.
  public init(_ role: Role, _ text: String) {
    self.role = role
    self.text = text
  }
}

extension BramleyClient {
  /// Asks Claude, and streams the answer. Throws ``BramleyError`` when the server refuses, before any text.
  ///
  /// - Parameters:
  ///   - turns: the conversation; its last turn is the user's.
  ///   - model: one that the server allows.
  ///   - maxTokens: the longest answer; the server may cut it down.
  ///   - system: instructions to the model.
  ///   - evidence: how the request proves where it comes from.
  ///   - target: the server's route.
  ///   - idempotencyKey: 16 characters or more that no other call has. With one the same question can be asked again
  ///     where its answer broke off, and costs once; it goes on at the server when nobody reads any more.
  public func ask(
    _ turns: [ConversationTurn], model: String, maxTokens: Int = 1_024, system: String? = nil,
    with evidence: Evidence = .assertion, target: String = "/ai/anthropic/v1/messages",
    idempotencyKey: String? = nil
  ) async throws -> MessageStream {
    var members: [(String, JSONValue)] = [
      ("model", .string(model)), ("max_tokens", .integer(maxTokens)), ("stream", true),
    ]
    if let system { members.append(("system", .string(system))) }
    let messages = turns.map { turn -> JSONValue in
      ["role": .string(turn.role.rawValue), "content": .string(turn.text)]
    }
    members.append(("messages", .array(messages)))
    var request = HTTPRequest(
      method: .post, target: target,
      fields: [
        "content-type": "application/json", "accept": "text/event-stream", "anthropic-version": "2023-06-01",
      ],
      body: HTTPBody(JSONValue.object(members).bytes))
    if let idempotencyKey { request.fields["idempotency-key"] = idempotencyKey }
    let response = try await respond(to: request, with: evidence)
    guard (200..<300).contains(response.status) else {
      throw BramleyError(response, body: await response.errorBody())
    }
    return MessageStream(response)
  }

  /// The same for one question.
  public func ask(
    _ question: String, model: String, maxTokens: Int = 1_024, with evidence: Evidence = .assertion
  ) async throws -> MessageStream {
    try await ask([ConversationTurn(.user, question)], model: model, maxTokens: maxTokens, with: evidence)
  }
}
