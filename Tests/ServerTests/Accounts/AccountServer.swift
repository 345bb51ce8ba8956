import Accounts
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// A whole server with accounts, asked as Supabase's clients ask.
struct AccountServer: Sendable {
  static let issuer = WholeServer.audience + "/auth/v1"

  let whole: WholeServer

  init(
    _ change: (inout Configuration) -> Void = { _ in },
    apple: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    outside: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    owned: [any OwnedData] = [], on location: DatabaseLocation? = nil
  ) async throws {
    whole = try await WholeServer(
      {
        $0.auth = Configuration.Auth()
        change(&$0)
      }, apple: apple, outside: outside, owned: owned, on: location)
  }

  /// A request as supabase-js makes it: with the publishable key everywhere and the newer version.
  func ask(
    _ method: HTTPMethod, _ target: String, _ body: String = "", bearer: String? = nil,
    fields more: HTTPFields = [:], peer: String = "192.0.2.1"
  ) async throws -> HTTPResponse {
    var fields: HTTPFields = [
      "apikey": "sb_publishable_test", "authorization": "Bearer \(bearer ?? "sb_publishable_test")",
      "x-supabase-api-version": "2024-01-01", "x-client-info": "supabase-js-node/2.112.0",
      "content-type": "application/json;charset=UTF-8",
    ]
    for line in more.lines { fields[line.name] = line.value }
    return try await whole.send(
      HTTPRequest(
        method: method, target: "/auth/v1" + target, fields: fields, body: HTTPBody(body), peer: peer))
  }

  /// An anonymous session.
  func signUp(_ body: String = #"{"data":{},"gotrue_meta_security":{}}"#) async throws -> ClientSession {
    try await ClientSession(try await ask(.post, "/signup", body))
  }

  func refresh(_ token: String) async throws -> HTTPResponse {
    try await ask(.post, "/token?grant_type=refresh_token", #"{"refresh_token":"\#(token)"}"#)
  }

  /// An operator's key.
  func adminKey() async throws -> String {
    let key = Token.admin(random: SecureRandom.bytes(32))
    _ = try await SQLAdminKeyStore(whole.database).createAdminKey(
      name: "test", hash: Token.hash(key), now: whole.clock.now)
    return key
  }
}

/// A session as a client keeps it; reading it demands every member that one of Supabase's clients demands.
struct ClientSession: Sendable {
  let accessToken: String
  let refreshToken: String
  let expiresAt: Int64
  let user: JSONNode
  let json: JSONNode

  init(
    accessToken: String, refreshToken: String, expiresAt: Int64, user: JSONNode, json: JSONNode
  ) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.expiresAt = expiresAt
    self.user = user
    self.json = json
  }

  init(_ response: HTTPResponse) async throws {
    let json = try await response.json
    try #require(response.status == 200, "\(json.value.text)")
    self.json = json
    accessToken = try #require(json["access_token"]?.string)
    refreshToken = try #require(json["refresh_token"]?.string)
    expiresAt = try #require(json["expires_at"]?.integer)
    user = try #require(json["user"])
    try #require(json["expires_in"]?.integer != nil)
    try #require(json["token_type"]?.string == "bearer")
    try Self.requireUser(user)
  }

  var userID: String { user["id"]?.string ?? "" }

  var claims: JSONNode {
    get throws { try JWS.Compact(parsing: accessToken).claims }
  }

  var sessionID: String {
    get throws { try claims["session_id"]?.string ?? "" }
  }

  /// What the contract says that clients need of a user.
  static func requireUser(_ user: JSONNode) throws {
    try #require(user["id"]?.string.flatMap { UUID($0) } != nil)
    try #require(user["aud"]?.string == "authenticated" && user["role"]?.string == "authenticated")
    try #require(user["email"]?.string != nil && user["phone"]?.string != nil)
    try #require(user["app_metadata"]?.members != nil && user["user_metadata"]?.members != nil)
    try #require(user["is_anonymous"]?.bool != nil)
    for name in ["created_at", "updated_at"] {
      let text = try #require(user[name]?.string)
      try #require(text.hasSuffix("Z") && RFC3339.seconds(text) != nil)
    }
    for identity in try #require(user["identities"]?.elements) {
      for name in ["identity_id", "id", "user_id", "provider", "created_at", "updated_at"] {
        try #require(identity[name]?.string != nil)
      }
      try #require(identity["identity_data"]?.members != nil)
    }
  }
}
