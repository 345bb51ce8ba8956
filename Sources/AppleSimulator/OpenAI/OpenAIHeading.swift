import Encodings
import HTTPMessages

/// The fields that every answer of OpenAI's API carries. Those of the operator's organisation are here so that a
/// test can see a gateway hide them.
struct OpenAIHeading {
  /// The number of the call, from 1.
  let number: Int

  func json(_ value: JSONValue) -> HTTPResponse {
    HTTPResponse(status: 200, fields: fields("application/json"), body: HTTPBody(value.bytes))
  }

  func eventStream(_ body: HTTPBody, gzip: Bool) -> HTTPResponse {
    var fields = fields("text/event-stream; charset=utf-8")
    if gzip { fields["content-encoding"] = "gzip" }
    return HTTPResponse(status: 200, fields: fields, body: body)
  }

  private func fields(_ type: String) -> HTTPFields {
    [
      "content-type": type, "x-request-id": "req_simulated\(number)",
      "openai-organization": "org-simulated-operator", "openai-project": "proj_simulated",
      "openai-processing-ms": "7", "openai-version": "2020-10-01", "x-ratelimit-limit-requests": "10000",
      "x-ratelimit-remaining-requests": "9999", "x-ratelimit-reset-requests": "6ms",
      "x-ratelimit-limit-tokens": "2000000", "x-ratelimit-remaining-tokens": "1999000",
      "x-ratelimit-reset-tokens": "6m0s", "server": "cloudflare",
      "set-cookie": "__cf_bm=simulated\(number); path=/; HttpOnly; Secure; SameSite=None",
    ]
  }
}
