import Cryptography
import Encodings
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

@Suite("kill -9 amid sign-ins", .serialized)
struct AccountKillTests {
  @Test("RULES §3.4, §3.6: nobody loses an account, and nobody has two, whatever the server was doing")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    var server = try await DevelopmentServer()
    var people: [Person] = []
    var unanswered: [String: Int] = [:]
    for kill in 1...KillTests.kills {
      let app = AccountApp(network, base: server.base)
      let program = server.program
      let first = people.count
      people += await withTaskGroup(of: [Person].self) { group in
        for worker in 0..<4 { group.addTask { await app.live("\(kill)-\(worker)") } }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 100...900)))
        program.kill(SIGKILL)
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(try await program.exitCode() == SIGKILL)
      #expect(people[first...].compactMap(\.refusal) == [])
      try OnlineCopy.check(server.folder.path("data") + "/bramley.sqlite")

      server = try await DevelopmentServer(after: server)
      for index in people.indices[first...] {
        if let pending = people[index].pending { unanswered[pending.name, default: 0] += 1 }
        people[index] = try await app.comeBack(people[index])
      }
    }
    print(
      "kill -9 amid sign-ins: \(KillTests.kills) times, \(people.count) people, unanswered: \(unanswered)")
    #expect(people.count > KillTests.kills)

    let database = try Database(.readOnlyFile(server.folder.path("data") + "/bramley.sqlite"))
    defer { database.close() }
    let counts = try await database.read {
      try $0.rows(
        """
        select count(*), sum(is_anonymous),
          (select count(*) from identities), (select count(distinct user_id) from identities),
          (select count(*) from apple_tokens)
        from users
        """
      ) { row in (0..<5).map { row.int(Int32($0)) } }
    }
    let count = try #require(counts.first)
    let known = people.filter(\.hasIdentity).count
    #expect(count[2] == known)
    #expect(count[3] == known)
    #expect(count[0] - count[1] == known)
    // A sign-up whose answer was lost leaves an anonymous user that nobody knows: nothing tells who it was.
    let guests = people.count { $0.userID != nil && !$0.hasIdentity }
    #expect((guests...guests + unanswered["sign-up", default: 0]).contains(count[1]))
    #expect(count[4] > 0)
    #expect(try await server.stop() == 0)
  }
}

/// Somebody with a phone, an Apple Account and what the server last answered.
private struct Person: Sendable {
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
private struct AccountApp: Sendable {
  private struct Refused: Error { var text: String }

  private let network: HTTPClient
  private let base: String
  private static let token = "/auth/v1/token?grant_type="

  init(_ network: HTTPClient, base: String) {
    self.network = network
    self.base = base
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
    _ = try await post(
      "/simulated-apple/simulator/accounts",
      ["email": .string(person.account), "first_name": "A", "last_name": "B"], nil)
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
    let sheet = try await post(
      "/simulated-apple/simulator/sign-in",
      [
        "account": .string(person.account), "client_id": "com.example.bramley",
        "nonce": .string(Hex.encode(SHA256.hash(nonce))),
      ], nil)
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

  private func send(
    _ method: HTTPMethod, _ target: String, _ body: JSONValue?, _ bearer: String?
  ) async throws -> JSONNode {
    var fields: HTTPFields = ["content-type": "application/json", "x-supabase-api-version": "2024-01-01"]
    if let bearer { fields["authorization"] = "Bearer \(bearer)" }
    let response = try await network.respond(
      to: HTTPRequest(
        method: method, scheme: "http", authority: String(base.dropFirst("http://".count)), target: target,
        fields: fields, body: body.map { HTTPBody($0.bytes) } ?? .empty))
    let octets = try await response.body.collect(upTo: 1 << 20)
    guard response.status == 200 else {
      throw Refused(text: "\(target): \(response.status) \(String(decoding: octets, as: UTF8.self))")
    }
    return try JSONReader.read(octets)
  }
}
