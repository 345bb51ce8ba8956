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
    simulation.whole(value, json(value), billing: billing, sleep: sleep)
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
