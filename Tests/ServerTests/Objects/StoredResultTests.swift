import Accounts
import Admission
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

@Suite("Functions that store what they make") struct StoredResultTests {
  @Test("text, JSON and a picture are stored, and their place is told; the owner downloads them")
  func stored() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    for (name, input, type, suffix) in [
      ("note", ["words": "hello"] as JSONValue, "text/plain; charset=utf-8", ".txt"),
      ("facts", ["words": "soup"], "application/json", ".json"),
      ("creature", ["name": "Mo"], "image/png", ".png"),
    ] {
      let object = try await StoringServer.stored(try await server.call(name, input, phone, as: ada))
      let path = try #require(object["path"]?.string)
      #expect(object["bucket"]?.string == "functions" && path.hasPrefix(name + "/") && path.hasSuffix(suffix))
      #expect(object["content_type"]?.string == type)
      for place in ["/functions/", "/authenticated/functions/"] {
        let file = try await server.storage(.get, place + path, as: ada)
        let bytes = try await file.body.collect(upTo: 1 << 20)
        #expect(file.status == 200 && file.fields["content-type"] == type)
        #expect(object["bytes"]?.integer == Int64(bytes.count) && !bytes.isEmpty)
        #expect(file.body.length == bytes.count)
        if name == "creature" { #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47])) }
      }
    }
    let rows = try await server.whole.usage()
    #expect(rows.count == 3 && rows.allSatisfy { !$0.estimated && $0.userID == ada.userID })
    #expect(try await server.whole.openReservations() == 0)
  }

  @Test("nobody who is not signed in is stored for: 401, nothing is asked of the provider")
  func signedOut() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let refused = try await server.call("note", ["words": "x"], phone, as: nil)
    #expect(try await Outcome(refused) == Outcome(401, "no_authorization"))
    #expect(server.whole.upstreamRequests.values.isEmpty)
  }

  @Test("with a session token the object is the signed-in user's")
  func session() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let token = try await phone.token().json["token"]?.string
    var request = Phone.call("note", #"{"words":"hello"}"#)
    request.fields["authorization"] = "Bearer " + ada.accessToken
    request.fields["x-attest-session"] = token
    _ = try await StoringServer.stored(try await server.whole.send(request))
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 1)
  }

  @Test("a user with no room is refused before anything is paid, and has some again after removing")
  func room() async throws {
    let server = try await StoringServer { $0.storage.objectsPerUser = 2 }
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    var paths: [String] = []
    for _ in 0..<2 {
      let object = try await StoringServer.stored(
        try await server.call("note", ["words": "x"], phone, as: ada))
      paths.append(try #require(object["path"]?.string))
    }
    let full = try await server.call("note", ["words": "x"], phone, as: ada)
    #expect(full.fields["x-should-retry"] == "false")
    #expect(try await Outcome(full) == Outcome(422, "object_limit_reached"))
    #expect(server.whole.upstreamRequests.values.count == 2)
    #expect(try await server.whole.usage().count == 2)
    #expect(try await server.storage(.delete, "/functions/" + paths[0], as: ada).status == 200)
    #expect(try await server.call("note", ["words": "x"], phone, as: ada).status == 200)
    let grace = try await server.signUp()
    #expect(try await server.call("note", ["words": "x"], phone, as: grace).status == 200)
  }

  @Test("octets are bounded as well: the largest result must have room")
  func octets() async throws {
    let server = try await StoringServer {
      $0.storage.bytesPerResult = 2_000
      $0.storage.bytesPerUser = 2_003
    }
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    #expect(try await server.call("note", ["words": "hello there"], phone, as: ada).status == 200)
    #expect(
      try await Outcome(server.call("note", ["words": "x"], phone, as: ada))
        == Outcome(422, "object_limit_reached"))
  }

  @Test(
    "RULES §6.3: a picture elsewhere than where fal keeps them is not fetched, and its answer is not lost")
  func elsewhere() async throws {
    let asked = Recorder<HTTPRequest>()
    let server = try await StoringServer(
      upstream: { _ in
        HTTPResponse(
          status: 200, fields: ["content-type": "application/json", "x-fal-billable-units": "1"],
          body: HTTPBody(#"{"images":[{"url":"https://169.254.169.254/latest"}]}"#))
      },
      files: {
        asked.append($0)
        return HTTPResponse(status: 200, fields: ["content-type": "image/png"], body: HTTPBody("x"))
      })
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let json = try await server.call("creature", ["name": "Mo"], phone, as: ada).json
    #expect(json["not_stored"]?["code"]?.string == "object_not_stored" && json["objects"] == nil)
    #expect(json["images"]?.elements?.first?["url"]?.string == "https://169.254.169.254/latest")
    #expect(asked.values.isEmpty)
    #expect(try await server.whole.usage().count == 1)
  }

  @Test("a file that is too large, or a stop before the end, is told of, and the answer is given")
  func unfit() async throws {
    let server = try await StoringServer(
      { $0.storage.bytesPerResult = 1_024 },
      files: { _ in
        HTTPResponse(
          status: 200, fields: ["content-type": "image/png"],
          body: HTTPBody([UInt8](repeating: 1, count: 1_025)))
      })
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let picture = try await server.call("creature", ["name": "Mo"], phone, as: ada).json
    #expect(picture["not_stored"]?["code"]?.string == "object_too_large")
    #expect(picture["images"]?.elements?.count == 1)
    let cut = try await server.call(
      "note", ["words": "[simulate: tokens 500]"], phone, as: ada
    ).json
    #expect(cut["stop"]?.string == "limit" && cut["not_stored"]?["code"]?.string == "output_incomplete")
    #expect(cut["text"]?.string?.isEmpty == false)
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 0)
    #expect(try await server.whole.openReservations() == 0)
  }

  @Test("a database that fails for a moment is tried again; one that stays away loses nobody the answer")
  func broken() async throws {
    let plain = try await StoringServer()
    let bent = BentObjectStore(plain.objects)
    let server = try await StoringServer(objects: bent, sharing: plain.whole)
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    bent.fail(2)
    _ = try await StoringServer.stored(try await server.call("note", ["words": "x"], phone, as: ada))
    // It was kept, and nobody learned of it: the second attempt finds it.
    bent.fail(1, keeping: true)
    _ = try await StoringServer.stored(try await server.call("note", ["words": "x"], phone, as: ada))
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 2)
    bent.fail(3)
    let lost = try await server.call("note", ["words": "hello"], phone, as: ada).json
    #expect(lost["not_stored"]?["code"]?.string == "object_not_stored")
    #expect(lost["text"]?.string?.isEmpty == false && lost["stop"]?.string == "end")
    #expect(bent.puts.load(ordering: .relaxed) == 8)
    #expect(try await server.whole.usage().count == 3)
    #expect(server.whole.lines.values.contains { $0.contains("object_not_stored") })
  }

  @Test("an app that leaves once the model is done is stored for, and booked, all the same")
  func left() async throws {
    let gate = Atomic<Bool>(false)
    let waits = Atomic<Bool>(false)
    let server = try await StoringServer(files: { _ in
      waits.store(true, ordering: .releasing)
      while !gate.load(ordering: .acquiring) { try? await Task.sleep(for: .milliseconds(2)) }
      return HTTPResponse(status: 200, fields: ["content-type": "image/png"], body: HTTPBody("png"))
    })
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let call = Task { try await server.call("creature", ["name": "Mo"], phone, as: ada) }
    while !waits.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(2)) }
    call.cancel()
    gate.store(true, ordering: .releasing)
    _ = try? await call.value
    await server.whole.background.drain()
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 1)
    let rows = try await server.whole.usage()
    #expect(rows.count == 1 && rows.first?.estimated == false)
    #expect(try await server.whole.openReservations() == 0)
  }
}
