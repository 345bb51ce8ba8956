import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores

@testable import Server

/// What the tests of fal ask of a phone.
extension Phone {
  static let direct = "/ai/fal/run/fal-ai/flux/schnell"
  static let queue = "/ai/fal/queue/fal-ai/flux/schnell"

  static func picture(_ prompt: String, target: String = direct, more: String = "") -> HTTPRequest {
    HTTPRequest(
      method: .post, target: target, fields: ["content-type": "application/json"],
      body: HTTPBody("{\"prompt\":\(JSONValue.string(prompt).text)\(more)}"), peer: "192.0.2.1")
  }

  /// Asks for a picture directly.
  func draw(_ prompt: String, more: String = "") async throws -> HTTPResponse {
    try await server.send(try await sign(Self.picture(prompt, more: more)))
  }

  /// Hands a call to the queue; the path of its answers here.
  func submit(_ prompt: String, more: String = "") async throws -> String {
    let response = try await server.send(
      try await sign(Self.picture(prompt, target: Self.queue, more: more)))
    guard response.status == 200, let url = try await response.json["response_url"]?.string else {
      throw Unexpected(status: response.status)
    }
    return String(url.dropFirst(WholeServer.audience.count))
  }

  struct Unexpected: Error { let status: Int }

  func look(_ method: HTTPMethod = .get, _ target: String) async throws -> HTTPResponse {
    try await server.send(
      try await sign(HTTPRequest(method: method, target: target, peer: "192.0.2.1")))
  }

  /// The state that the gateway tells.
  func state(_ call: String) async throws -> String {
    let response = try await look(.get, call + "/status")
    return try await response.json["status"]?.string ?? "\(response.status)"
  }
}

extension WholeServer {
  /// Pico-dollars a megapixel.
  static let falPrice: Int64 = 3_000_000_000

  /// What fal would have billed, in pico-dollars.
  var falBill: Int64 { Int64(fal.billing.microUnits) / 1_000_000 * Self.falPrice }

  /// What is booked, in pico-dollars; usage rows and the budget's line must agree.
  func booked() async throws -> (rows: Int64, line: Int64, held: Int64) {
    let rows = try await usage().reduce(0) { $0 + $1.cost }
    let line = try await database.read { transaction in
      try await transaction.first(
        """
        select coalesce(sum(used), 0), coalesce(sum(held), 0) from lines l join rules r on r.id = l.rule
        where r.name = 'money'
        """
      ) { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
    }
    return (rows, line.0, line.1)
  }

  func openReservations() async throws -> Int64? {
    await background.drain()
    return try await database.read { try await $0.first("select count(*) from reservations") { $0.int64(0) } }
  }

  /// Runs the job that looks after queued calls.
  @discardableResult func attend() async -> JobOutcome? {
    await server.jobs.first { $0.name == "settle_queued_calls" }?.run()
  }

  /// Lets time pass and the job run, a look every minute.
  func attend(minutes: Int) async {
    for _ in 0..<minutes {
      clock.advance(milliseconds: 60_000)
      await attend()
    }
  }
}
