import Encodings
import HTTPMessages

@testable import Server

/// How tests ask with an `Idempotency-Key`, of a provider whose answer they give piece by piece.
protocol IdempotentAsking {}

extension IdempotentAsking {
  static var key: String { "8e03978e-40d5-43dd-bc93-6894a57f9324" }
  static var start: String {
    #"data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}"# + "\n\n"
      + #"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"apple"}}"#
      + "\n\n"
  }
  static var end: String {
    #"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}"#
      + "\n\n" + #"data: {"type":"message_stop"}"# + "\n\n"
  }

  func tapped(
    _ tap: Tap, sharing other: WholeServer? = nil, patience: Duration = .seconds(30)
  ) async throws -> WholeServer {
    try await WholeServer(
      upstream: { _ in
        HTTPResponse(
          status: 200, fields: ["content-type": "text/event-stream"], body: HTTPBody(stream: tap))
      }, sleep: { try await Task.sleep(for: $0 == Idempotency.patience ? patience : .milliseconds(5)) },
      sharing: other)
  }

  func ask(
    _ phone: Phone, at server: WholeServer? = nil, _ text: String = "hello", key: String = Self.key,
    stream: Bool = true
  ) async throws -> HTTPResponse {
    var request = Phone.question(text, stream: stream)
    request.fields["idempotency-key"] = key
    return try await (server ?? phone.server).send(try await phone.sign(request))
  }
}
