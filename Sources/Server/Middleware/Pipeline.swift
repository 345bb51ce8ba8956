import BramleyAPI
import Encodings
import HTTPMessages

/// What every request goes through: id, address, route, cross-origin and safety fields, log, metrics.
struct Pipeline: HTTPHandler {
  let environment: Environment
  let router: Router
  let crossOrigin: CrossOrigin
  let metrics: Metrics
  let log: ApplicationLog

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    var exchange = Exchange(request, environment: environment)
    var response: HTTPResponse
    do {
      response = try await router.respond(to: request, &exchange)
    } catch {
      // The client left before there was an answer.
      write(request, exchange, status: 499, octets: 0)
      throw error
    }
    for line in exchange.answerFields.lines { response.fields[line.name] = line.value }
    response.fields["x-request-id"] = exchange.requestID
    response.fields["x-content-type-options"] = "nosniff"
    if response.fields["cache-control"] == nil { response.fields["cache-control"] = "no-store" }
    crossOrigin.apply(to: &response, for: request)
    metrics.heads.record(nanoseconds: environment.uptime() - exchange.started)
    metrics.statuses[String(response.status)].add()
    metrics.routes[exchange.route ?? "none"].add()
    if let code = exchange.code {
      metrics.errors[code.rawValue].add()
      if code == .internalError {
        log.error("internal_error", [("request_id", .string(exchange.requestID))] + exchange.notes)
      }
    }

    let status = response.status
    switch response.body.content {
    case .bytes(let bytes): write(request, exchange, status: status, octets: bytes.count)
    case .stream(let stream, let length):
      metrics.streams.add(1)
      let exchange = exchange
      let counted = CountedBody(stream) { [self] octets in
        metrics.streams.add(-1)
        write(request, exchange, status: status, octets: octets)
      }
      response.body = HTTPBody(stream: counted, length: length)
    }
    return response
  }

  private func write(_ request: HTTPRequest, _ exchange: Exchange, status: Int, octets: Int) {
    var members: [(String, JSONValue)] = [
      ("request_id", .string(exchange.requestID)),
      ("method", .string(String(request.method.rawValue.prefix(16)))),
      ("route", .string(exchange.route ?? "none")), ("status", .integer(status)),
      ("ms", .integer((environment.uptime() - exchange.started) / 1_000_000)), ("octets", .integer(octets)),
      ("address", .string(exchange.address)),
    ]
    if let trace = exchange.trace { members.append(("trace_id", .string(trace))) }
    if let key = exchange.keyName { members.append(("key", .string(key))) }
    if let code = exchange.code { members.append(("code", .string(code.rawValue))) }
    log.info("request", members + exchange.notes)
  }
}
