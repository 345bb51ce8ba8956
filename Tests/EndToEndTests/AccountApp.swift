import Cryptography
import Encodings
import HTTPMessages
import Testing
import Transport

/// Somebody with a phone, an Apple Account and what the server last answered.
struct Person: Sendable {
  struct Call: Sendable {
    var name: String
    var target: String
    var body: JSONValue
    var bearer: String?
  }

  var account: String
  var userID: String?
  var access: String?
  var refresh: String?
  var hasIdentity = false
  /// What was asked and not answered.
  var pending: Call?
  /// An answer that was neither a session nor the end of the server.
  var refusal: String?
}

/// An app's calls, one after another.
struct AccountApp: Sendable {
  private struct Refused: Error { var text: String }

  private let network: HTTPClient
  /// The nodes; each call goes to one of them.
  private let bases: [String]
  /// Where the doors of the simulated Apple are; nil for below every node, as in `dev`.
  private let appleDoors: String?
  private static let token = "/auth/v1/token?grant_type="

  init(_ network: HTTPClient, bases: [String], appleDoors: String? = nil) {
    self.network = network
    self.bases = bases
    self.appleDoors = appleDoors
  }

  /// People one after another, until the server is gone.
  func live(_ name: String) async -> [Person] {
    var people: [Person] = []
    while true {
      var person = Person(account: "\(name)-\(people.count)@example.com")
      do {
        try await live(&person, startsAsGuest: people.count.isMultiple(of: 2))
        people.append(person)
      } catch {
        if let refused = error as? Refused { person.refusal = refused.text }
        people.append(person)
        return people
      }
    }
  }

  private func live(_ person: inout Person, startsAsGuest: Bool) async throws {
    _ = try await atApple(
      "/accounts", ["email": .string(person.account), "first_name": "A", "last_name": "B"])
    if startsAsGuest {
      try await call(&person, Person.Call(name: "sign-up", target: "/auth/v1/signup", body: [:]))
      for _ in 0..<2 { try await call(&person, refresh(person)) }
    }
    try await call(&person, signIn(person, links: startsAsGuest))
    // Another phone of theirs.
    let user = person.userID
    try await call(&person, signIn(person, links: false))
    #expect(person.userID == user)
    try await call(&person, refresh(person))
  }

  /// Repeats what was not answered, and proves that the account and its session are there.
  func comeBack(_ person: Person) async throws -> Person {
    var person = person
    let user = person.userID
    if let pending = person.pending {
      try await call(&person, pending)
      if user != nil { #expect(person.userID == user, "\(pending.name)") }
    }
    guard person.userID != nil else { return person }
    try await call(&person, refresh(person))
    let seen = try await send(.get, "/auth/v1/user", nil, person.access)
    #expect(seen["id"]?.string == person.userID)
    #expect(seen["identities"]?.elements?.count == (person.hasIdentity ? 1 : 0))
    if person.hasIdentity {
      let user = person.userID
      try await call(&person, signIn(person, links: false))
      #expect(person.userID == user)
    }
    return person
  }

  private func refresh(_ person: Person) -> Person.Call {
    Person.Call(
      name: "refresh", target: Self.token + "refresh_token",
      body: ["refresh_token": .string(person.refresh ?? "")])
  }

  /// A sheet of Apple, and what an app makes of it.
  private func signIn(_ person: Person, links: Bool) async throws -> Person.Call {
    let nonce = Hex.encode(SecureRandom.bytes(16))
    let sheet = try await atApple(
      "/sign-in",
      [
        "account": .string(person.account), "client_id": "com.example.bramley",
        "nonce": .string(Hex.encode(SHA256.hash(nonce))),
      ])
    return Person.Call(
      name: links ? "link" : "sign-in", target: Self.token + "id_token",
      body: [
        "provider": "apple", "id_token": .string(sheet["identity_token"]?.string ?? ""),
        "nonce": .string(nonce), "authorization_code": .string(sheet["authorization_code"]?.string ?? ""),
        "link_identity": .bool(links),
      ], bearer: links ? person.access : nil)
  }

  private func call(_ person: inout Person, _ call: Person.Call) async throws {
    person.pending = call
    let session = try await post(call.target, call.body, call.bearer)
    person.pending = nil
    person.userID = session["user"]?["id"]?.string
    person.access = session["access_token"]?.string
    person.refresh = session["refresh_token"]?.string
    if call.name == "link" || call.name == "sign-in" { person.hasIdentity = true }
  }

  private func post(_ target: String, _ body: JSONValue, _ bearer: String?) async throws -> JSONNode {
    try await send(.post, target, body, bearer)
  }

  /// At a door of the simulated Apple.
  private func atApple(_ door: String, _ body: JSONValue) async throws -> JSONNode {
    if let appleDoors { return try await send(.post, "/simulator" + door, body, nil, base: appleDoors) }
    return try await send(.post, "/simulated-apple/simulator" + door, body, nil)
  }

  private func send(
    _ method: HTTPMethod, _ target: String, _ body: JSONValue?, _ bearer: String?, base: String? = nil
  ) async throws -> JSONNode {
    var fields: HTTPFields = ["content-type": "application/json", "x-supabase-api-version": "2024-01-01"]
    if let bearer { fields["authorization"] = "Bearer \(bearer)" }
    let response = try await network.respond(
      to: HTTPRequest(
        method: method, scheme: "http",
        authority: String((base ?? bases.randomElement() ?? "").dropFirst("http://".count)), target: target,
        fields: fields, body: body.map { HTTPBody($0.bytes) } ?? .empty))
    let octets = try await response.body.collect(upTo: 1 << 20)
    guard response.status == 200 else {
      throw Refused(text: "\(target): \(response.status) \(String(decoding: octets, as: UTF8.self))")
    }
    return try JSONReader.read(octets)
  }
}
