import Encodings
import HTTPMessages

/// The fields that every answer of Anthropic's API carries. Those of the operator's organisation are here so
/// that a test can see a gateway hide them.
struct AnthropicHeading {
  /// The number of the call, from 1.
  let number: Int
  private let now: Int64

  init(number: Int, now: Int64) {
    self.number = number
    self.now = now
  }

  var requestID: String { "req_simulated\(number)" }

  func json(_ value: JSONValue) -> HTTPResponse {
    HTTPResponse(status: 200, fields: fields("application/json"), body: HTTPBody(value.bytes))
  }

  func eventStream(_ body: HTTPBody, gzip: Bool) -> HTTPResponse {
    var fields = fields("text/event-stream; charset=utf-8")
    fields["cache-control"] = "no-cache"
    if gzip { fields["content-encoding"] = "gzip" }
    return HTTPResponse(status: 200, fields: fields, body: body)
  }

  /// A whole message, in one piece or as the instructions say.
  func message(
    _ value: JSONValue, _ simulation: Simulation, billing: SimulatedBilling,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) -> HTTPResponse {
    var response = json(value)
    var bytes = value.bytes
    if simulation.gzip {
      response.fields["content-encoding"] = "gzip"
      var gzip = StoredGzip()
      bytes = gzip.begin() + gzip.add(bytes) + gzip.end()
    }
    if simulation.dropAfter == nil, simulation.chunk == nil, !simulation.stall {
      response.body = HTTPBody(bytes)
      return response
    }
    var steps: [AnswerScript.Step] = [.send(Array(bytes.prefix(bytes.count / 2)), outputTokens: 0)]
    if simulation.dropAfter != nil {
      steps.append(.drop)
    } else {
      if simulation.stall { steps.append(.stall) }
      steps.append(.send(Array(bytes.dropFirst(bytes.count / 2)), outputTokens: 0))
    }
    let stream = AnswerStream(steps, chunk: simulation.chunk, gzip: false, billing: billing, sleep: sleep)
    response.body = HTTPBody(stream: stream, length: bytes.count)
    return response
  }

  private func fields(_ type: String) -> HTTPFields {
    let reset = CivilTime(secondsSince1970: now + 60).rfc3339
    var fields: HTTPFields = [
      "content-type": type, "request-id": requestID,
      "anthropic-organization-id": "00000000-0000-4000-8000-51a017a7ed00",
    ]
    for (kind, limit, used) in [
      ("requests", 4_000, 1), ("tokens", 480_000, 1_000), ("input-tokens", 400_000, 800),
      ("output-tokens", 80_000, 200),
    ] {
      fields["anthropic-ratelimit-\(kind)-limit"] = String(limit)
      fields["anthropic-ratelimit-\(kind)-remaining"] = String(limit - used)
      fields["anthropic-ratelimit-\(kind)-reset"] = reset
    }
    fields["server"] = "cloudflare"
    fields["set-cookie"] = "__cf_bm=simulated\(number); path=/; HttpOnly; Secure; SameSite=None"
    return fields
  }
}
