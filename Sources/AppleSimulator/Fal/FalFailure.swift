import Encodings
import HTTPMessages

/// An error of fal's API.
struct FalFailure: Error, Equatable {
  var status: Int
  var message: String
  /// The place and type where a model refuses its input; fal then answers a list.
  var detail: (place: String, type: String)?
  /// `retry-after`, seconds.
  var retryAfter: Int?
  /// A page of a proxy instead of JSON.
  var asPage = false
  /// Millionths of a unit that are billed all the same.
  var billed: Int?

  init(_ status: Int, _ message: String, detail: (place: String, type: String)? = nil) {
    self.status = status
    self.message = message
    self.detail = detail
  }

  /// The error that an instruction asks for; with `echo key` its message repeats the caller's key.
  init(simulated status: Int, in simulation: Simulation, key: String) {
    self.init(status, Self.known[status] ?? "Simulated error")
    if status == 422 { detail = ("prompt", "content_policy_violation") }
    if simulation.echoKey { message += ": key \(key) of this account" }
    retryAfter = simulation.retryAfter
    asPage = simulation.page
    billed = simulation.units
  }

  static func == (left: FalFailure, right: FalFailure) -> Bool {
    left.status == right.status && left.message == right.message
  }

  /// A model's refusal of an input.
  static func input(_ place: String, _ message: String, type: String = "value_error") -> FalFailure {
    FalFailure(422, message, detail: (place, type))
  }

  var json: JSONValue {
    guard let detail else { return ["detail": .string(message)] }
    return [
      "detail": [
        [
          "loc": ["body", .string(detail.place)], "msg": .string(message), "type": .string(detail.type),
        ]
      ]
    ]
  }

  func response(requestID: String) -> HTTPResponse {
    var response = HTTPResponse(
      status: status, fields: ["content-type": "application/json", "x-fal-request-id": requestID],
      body: HTTPBody(json.bytes))
    if asPage {
      response.fields["content-type"] = "text/html; charset=UTF-8"
      response.body = HTTPBody("<html><head><title>\(status)</title></head><body>\(message)</body></html>")
    }
    if let retryAfter { response.fields["retry-after"] = String(retryAfter) }
    if let billed { response.fields["x-fal-billable-units"] = SimulatedPicture.units(billed) }
    return response
  }

  private static let known: [Int: String] = [
    401: "Cannot access application. Authentication is required to access this application.",
    403: "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
    404: "Application not found", 405: "Method Not Allowed", 408: "Request timed out",
    422: "The content could not be processed because it contained material flagged by a content checker.",
    429: "Too many concurrent requests", 500: "Internal Server Error", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}
