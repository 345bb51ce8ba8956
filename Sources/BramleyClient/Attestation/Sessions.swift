public import BramleyAPI
import Encodings
import HTTPMessages

/// Session tokens by the routes that they are for.
struct SessionCache {
  private var entries: [[String]: (answer: SessionAnswer, from: Int64)] = [:]

  /// One that holds for a minute at least, or for half of its life if that is less.
  func answer(_ routes: [String], now: Int64) -> SessionAnswer? {
    guard let entry = entries[routes], now >= entry.from else { return nil }
    let margin = min(60, entry.answer.expiresIn / 2)
    let (passed, overflow) = now.subtractingReportingOverflow(entry.from)
    return !overflow && passed < entry.answer.expiresIn - margin ? entry.answer : nil
  }

  mutating func keep(_ answer: SessionAnswer, _ routes: [String], now: Int64) {
    entries[routes] = (answer, now)
  }

  mutating func forget(_ token: String) {
    entries = entries.filter { $0.value.answer.token != token }
  }
}

extension BramleyClient {
  /// A session token for routes whose policy takes one, kept until shortly before its end: for SDKs of
  /// providers, whose header fields are fixed. An empty list asks for all such routes.
  public func sessionToken(routes: [String] = []) async throws -> SessionAnswer {
    if let answer = sessions.answer(routes, now: now()) { return answer }
    let flight = exchanging[routes] ?? SingleFlight()
    exchanging[routes] = flight
    return try await flight.run { try await self.exchange(routes) }
  }

  private func exchange(_ routes: [String]) async throws -> SessionAnswer {
    let request = HTTPRequest(
      method: .post, target: AttestTargets.token, fields: ["content-type": "application/json"],
      body: HTTPBody(SessionRequest(routes: routes).json.bytes))
    let exchange = try await AttestedExchange(request, hash: attestation.sha256)
    let response = try await send(exchange, tag: .tokenExchange)
    let body = await response.errorBody()
    guard response.status == 200 || response.status == 201 else { throw BramleyError(response, body: body) }
    guard let answer = SessionAnswer(body: body) else {
      throw BramleyError(.unrecognizedAnswer, status: response.status)
    }
    sessions.keep(answer, routes, now: now())
    return answer
  }

  /// Sends with a session token; once more with a new one where the server does not take it.
  func sendWithSession(_ exchange: AttestedExchange) async throws -> HTTPResponse {
    var isRetried = false
    while true {
      let token = try await sessionToken().token
      var request = exchange.request
      request.fields[AttestFields.session] = token
      var response = try await sendPlain(request)
      guard response.status == 401, !isRetried else { return response }
      let body = await response.errorBody()
      response.body = HTTPBody(body)
      guard ErrorAnswer(body: body).code == .invalidSession else { return response }
      isRetried = true
      sessions.forget(token)
    }
  }
}
