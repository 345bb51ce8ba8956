import AppleSimulator
import HTTPMessages

/// The providers of `bramley dev`, told apart by the host that a request is for.
struct SimulatedNetwork: HTTPHandler {
  let fal: SimulatedFal
  let anthropic: SimulatedAnthropic

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    if SimulatedFal.Hosts().contains(request.authority) { return try await fal.respond(to: request) }
    return try await anthropic.respond(to: request)
  }
}
