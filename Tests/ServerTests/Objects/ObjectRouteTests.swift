import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing
import UserData

@testable import Server

@Suite("Users' objects by Supabase Storage's routes") struct ObjectRouteTests {
  private let limits = ObjectLimits(count: 100, bytes: 100 << 20)

  private func put(
    _ server: StoringServer, _ path: String, of session: ClientSession, _ type: ObjectType = .png,
    size: Int = 10, at time: Int64 = 1
  ) async throws -> [UInt8] {
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let object = StoredObject(
      id: try #require(UUID(random: (0..<16).map { _ in UInt8.random(in: 0...255) })),
      user: try #require(UUID(session.userID)), bucket: "functions", path: try #require(ObjectPath(path)),
      contentType: type, size: 0, createdAt: time)
    #expect(try await server.objects.put([ObjectDraft(object, content: content)], within: limits) == nil)
    return content
  }

  @Test("RULES §6.2: nosniff, sandbox, no-store; a download unless it is a picture, a film or sound")
  func fields() async throws {
    let server = try await StoringServer()
    let ada = try await server.signUp()
    for type in ObjectType.allCases {
      let path = "f/a.\(type.suffix)"
      let content = try await put(server, path, of: ada, type)
      let response = try await server.storage(.get, "/functions/" + path, as: ada)
      #expect(response.status == 200 && response.fields["content-type"] == type.rawValue)
      #expect(response.fields["x-content-type-options"] == "nosniff")
      #expect(response.fields["content-security-policy"] == "sandbox; default-src 'none'")
      #expect(response.fields["cache-control"] == "no-store")
      let kind = type.isShown ? "inline" : "attachment"
      #expect(response.fields["content-disposition"] == "\(kind); filename=\"a.\(type.suffix)\"")
      #expect(try await response.body.collect(upTo: 100) == content)
    }
    let saved = try await server.storage(.get, "/functions/f/a.png?download=", as: ada)
    #expect(saved.fields["content-disposition"] == "attachment; filename=\"a.png\"")
  }

  @Test("somebody else's object is as good as none, for every route; so is none at all")
  func strangers() async throws {
    let server = try await StoringServer()
    let (ada, grace) = (try await server.signUp(), try await server.signUp())
    _ = try await put(server, "f/a.png", of: ada)
    for path in ["f/a.png", "f/b.png", "f", "a/b/c"] {
      for (method, place) in [
        (HTTPMethod.get, "/functions/"), (.get, "/authenticated/functions/"), (.get, "/info/functions/"),
        (.delete, "/functions/"), (.head, "/functions/"),
      ] {
        let response = try await server.storage(method, place + path, as: grace)
        #expect(try await Outcome(response) == Outcome(404, "object_not_found"))
      }
    }
    let error = try await server.storage(.get, "/functions/f/a.png", as: grace).json
    #expect(error["statusCode"]?.string == "404" && error["error"]?.string == "not_found")
    #expect(
      try await server.storage(.delete, "/functions", as: grace, #"{"prefixes":["f/a.png"]}"#).text == "[]")
    #expect(try await server.storage(.post, "/list/functions", as: grace, #"{"prefix":"f"}"#).text == "[]")
    #expect(try await server.storage(.get, "/functions/f/a.png", as: ada).status == 200)
  }

  @Test("without an access token that holds nothing is told")
  func signedOut() async throws {
    let server = try await StoringServer()
    let ada = try await server.signUp()
    _ = try await put(server, "f/a.png", of: ada)
    #expect(
      try await Outcome(server.storage(.get, "/functions/f/a.png", as: nil))
        == Outcome(401, "no_authorization"))
    var request = HTTPRequest(method: .get, target: "/storage/v1/object/functions/f/a.png", peer: "192.0.2.1")
    for token in ["sb_publishable_test", ada.accessToken + "x", ada.refreshToken] {
      request.fields["authorization"] = "Bearer " + token
      #expect(try await Outcome(server.whole.send(request)) == Outcome(403, "bad_jwt"))
    }
    _ = try await server.whole.send(
      HTTPRequest(
        method: .post, target: "/auth/v1/logout", fields: ["authorization": "Bearer " + ada.accessToken],
        peer: "192.0.2.1"))
    #expect(
      try await Outcome(server.storage(.get, "/functions/f/a.png", as: ada))
        == Outcome(403, "session_not_found"))
  }

  @Test(
    "paths in another spelling, other buckets and other methods reach nothing",
    arguments: [
      "/functions/f/%61.png", "/functions/f//a.png", "/functions/./f/a.png", "/functions/f/../f/a.png",
      "/functions/", "/functions//f/a.png", "/public/functions/f/a.png", "/sign/functions/f/a.png",
      "/other/f/a.png", "/functions/f/a.png/", "/functions/%2e%2e/users", "/functions/f%2Fa.png",
    ])
  func spellings(_ target: String) async throws {
    let server = try await StoringServer()
    let ada = try await server.signUp()
    _ = try await put(server, "f/a.png", of: ada)
    for method in [HTTPMethod.get, .delete] {
      #expect(try await server.storage(method, target, as: ada).status == 404, "\(method)")
    }
    let refused = try await server.storage(.post, "/functions/f/a.png", as: ada)
    #expect(refused.status == 405 && refused.fields["allow"]?.contains("DELETE") == true)
    #expect(try await server.storage(.get, "/functions/f/a.png", as: ada).status == 200)
  }

  @Test("a long object comes in pieces, and breaks off where it is removed meanwhile")
  func long() async throws {
    let server = try await StoringServer()
    let ada = try await server.signUp()
    let content = try await put(server, "f/a.mp4", of: ada, .mp4, size: 300_000)
    let response = try await server.storage(.get, "/functions/f/a.mp4", as: ada)
    #expect(response.body.length == 300_000)
    #expect(try await response.body.collect(upTo: 1 << 20) == content)
    let second = try await server.storage(.get, "/functions/f/a.mp4", as: ada)
    let stream = second.body.pulled
    #expect(try await stream.next()?.isEmpty == false)
    #expect(try await server.storage(.delete, "/functions/f/a.mp4", as: ada).status == 200)
    await #expect(throws: HTTPBodyError.incomplete) { try await stream.next() }
    #expect(try await server.storage(.delete, "/functions/f/a.mp4", as: ada).status == 404)
  }

  @Test("what is listed, told and removed is as Supabase's clients read it")
  func lists() async throws {
    let server = try await StoringServer()
    let ada = try await server.signUp()
    for (number, path) in ["b/2.png", "b/1.png", "b/sub/3.png", "a/4.json"].enumerated() {
      _ = try await put(
        server, path, of: ada, path.hasSuffix("json") ? .json : .png, at: Int64(number) * 1_000)
    }
    func list(_ body: String) async throws -> [String?] {
      let response = try await server.storage(.post, "/list/functions", as: ada, body)
      return try await response.json.elements?.map { $0["name"]?.string } ?? ["\(response.status)"]
    }
    #expect(try await list(#"{"prefix":""}"#) == ["a", "b"])
    #expect(try await list(#"{"prefix":"b"}"#) == ["1.png", "2.png", "sub"])
    #expect(try await list(#"{"prefix":"b/","limit":1,"offset":1}"#) == ["2.png"])
    #expect(try await list(#"{"prefix":"b","search":"2"}"#) == ["2.png"])
    #expect(
      try await list(#"{"prefix":"b","sortBy":{"column":"created_at","order":"desc"}}"#) == [
        "1.png", "sub", "2.png",
      ])
    #expect(try await list(#"{"prefix":"c"}"#) == [])
    #expect(try await list(#"{"limit":-1}"#) == ["400"])
    let file = try await server.storage(.post, "/list/functions", as: ada, #"{"prefix":"a"}"#).json.elements?
      .first
    #expect(file?["metadata"]?["size"]?.integer == 10)
    #expect(file?["metadata"]?["mimetype"]?.string == "application/json")
    let told = try await server.storage(.get, "/info/functions/a/4.json", as: ada).json
    #expect(told["name"]?.string == "a/4.json" && told["size"]?.integer == 10)
    let removed = try await server.storage(
      .delete, "/functions", as: ada, #"{"prefixes":["a/4.json","b/9.png","../x","b/1.png"]}"#)
    #expect(try await removed.json.elements?.map { $0["name"]?.string } == ["a/4.json", "b/1.png"])
    for body in ["{}", #"{"prefixes":[1]}"#, #"{"prefixes":"a"}"#] {
      #expect(try await server.storage(.delete, "/functions", as: ada, body).status == 400)
    }
  }

  @Test("RULES §4.1: objects go with the account, and stand in its export before")
  func account() async throws {
    let server = try await StoringServer()
    let (ada, grace) = (try await server.signUp(), try await server.signUp())
    _ = try await put(server, "f/a.png", of: ada)
    _ = try await put(server, "f/b.png", of: grace)
    func ask(_ method: HTTPMethod, _ target: String) async throws -> HTTPResponse {
      try await server.whole.send(
        HTTPRequest(
          method: method, target: "/auth/v1" + target,
          fields: ["authorization": "Bearer " + ada.accessToken], peer: "192.0.2.1"))
    }
    let export = try await ask(.get, "/user/export").json["owned"]?["objects"]?.elements
    #expect(export?.map { $0["path"]?.string } == ["f/a.png"])
    #expect(export?.first?["bytes"]?.integer == 10)
    #expect(try await ask(.delete, "/user").status == 200)
    await server.whole.background.drain()
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 0)
    #expect(try await server.objects.standing(of: try #require(UUID(grace.userID))).count == 1)
    #expect(
      try await server.whole.database.read {
        try await $0.first("select count(*) from object_pieces") { $0.int64(0) }
      }
        == 1)
    #expect(try await server.storage(.get, "/functions/f/a.png", as: ada).status == 403)
  }
}
