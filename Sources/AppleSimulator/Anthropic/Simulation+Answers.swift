import Encodings
import HTTPMessages

extension Simulation {
  /// Waits as the instructions say; the answer where they send the caller elsewhere.
  func opening(
    _ head: HTTPResponse, sleep: @Sendable (Duration) async throws -> Void
  ) async throws -> HTTPResponse? {
    if delay > .zero { try await sleep(delay) }
    guard redirect else { return nil }
    var moved = head
    moved.status = 307
    moved.fields["location"] = "https://elsewhere.example/"
    return moved
  }

  /// A stream of these steps, cut and compressed as the instructions say.
  func streamed(
    _ steps: [AnswerScript.Step], billing: SimulatedBilling,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) -> HTTPBody {
    HTTPBody(stream: AnswerStream(steps, chunk: chunk, gzip: gzip, billing: billing, sleep: sleep))
  }

  /// A whole answer in one piece, or as the instructions say.
  func whole(
    _ value: JSONValue, _ head: HTTPResponse, billing: SimulatedBilling,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) -> HTTPResponse {
    var response = head
    var bytes = value.bytes
    if gzip {
      response.fields["content-encoding"] = "gzip"
      var gzip = StoredGzip()
      bytes = gzip.begin() + gzip.add(bytes) + gzip.end()
    }
    if dropAfter == nil, chunk == nil, !stall {
      response.body = HTTPBody(bytes)
      return response
    }
    var steps: [AnswerScript.Step] = [.send(Array(bytes.prefix(bytes.count / 2)), outputTokens: 0)]
    if dropAfter != nil {
      steps.append(.drop)
    } else {
      if stall { steps.append(.stall) }
      steps.append(.send(Array(bytes.dropFirst(bytes.count / 2)), outputTokens: 0))
    }
    let stream = AnswerStream(steps, chunk: chunk, gzip: false, billing: billing, sleep: sleep)
    response.body = HTTPBody(stream: stream, length: bytes.count)
    return response
  }
}
