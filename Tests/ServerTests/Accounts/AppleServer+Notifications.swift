import Admission
import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Testing

@testable import Server

/// What Apple tells the server, and what comes of it.
extension AppleServer {
  /// A session whose refresh token of Apple is kept.
  func signInWithCode(hidesEmail: Bool = false) async throws -> ClientSession {
    let raw = "raw nonce of a client"
    let granted = try await apple.signIn(
      account: Self.ada, client: Self.app, nonce: Hex.encode(SHA256.hash(raw)),
      hidesEmail: hidesEmail)
    return try await ClientSession(
      grant(
        Self.body((raw, granted), [("authorization_code", .string(granted.authorizationCode))])))
  }

  /// Delivers it, and waits until it was applied.
  @discardableResult func deliver(
    _ notification: SimulatedNotification
  ) async throws -> HTTPResponse {
    let response = try await server.whole.send(notification.request())
    await server.whole.background.drain()
    return response
  }

  func notify(_ body: String) async throws -> HTTPResponse {
    try await server.whole.send(
      HTTPRequest(
        method: .post, target: "/apple/notifications", fields: ["content-type": "application/json"],
        body: HTTPBody(body)))
  }

  func isLive(_ session: ClientSession) async throws -> Bool {
    try await server.ask(.get, "/user", bearer: session.accessToken).status == 200
  }

  /// How often notifications came to this.
  func events(_ name: String) -> Int {
    server.whole.server.metrics.appleEvents[name].value
  }

  /// How many are stored.
  func keptEvents() async throws -> Int64 {
    try await server.whole.database.read {
      try await $0.first("select count(*) from apple_events") { $0.int64(0) } ?? -1
    }
  }

  /// Runs one of the server's jobs.
  func run(_ job: String) async throws {
    let found = try #require(server.whole.server.jobs.first { $0.name == job })
    #expect(await found.run() == .done)
  }
}
