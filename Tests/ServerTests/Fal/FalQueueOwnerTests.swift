import Accounts
import Admission
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Whose a call in fal's queue is") struct FalQueueOwnerTests {
  private let price = WholeServer.falPrice

  @Test("RULES §5.7: to any other key, user or token there is no such call, whatever they ask")
  func strangers() async throws {
    let server = try await WholeServer()
    let (owner, stranger) = (try await server.phone(), try await server.phone())
    let call = try await owner.submit("a cat [simulate: wait 50]")
    let before = server.upstreamRequests.values.count
    let nobody = "/ai/fal/queue/fal-ai/flux/requests/00000000-0000-4000-8000-000000000000"
    for (method, suffix) in [(HTTPMethod.get, "/status"), (.get, ""), (.put, "/cancel")] {
      let theirs = try await stranger.look(method, call + suffix)
      let none = try await owner.look(method, nobody + suffix)
      #expect(theirs.status == 404 && none.status == 404)
      var (a, b) = (try await theirs.json["detail"]?.string, try await none.json["detail"]?.string)
      #expect(a == b && a != nil)
      let bare = HTTPRequest(method: method, target: call + suffix, peer: "192.0.2.1")
      #expect(try await Outcome(server.send(bare)) == Outcome(401, "attestation_required"))
      (a, b) = (nil, nil)
    }
    #expect(server.upstreamRequests.values.count == before, "fal was not asked")
    #expect(server.fal.billing.cancelled == 0)
    for odd in ["requests/..", "requests/%2e", "requests/", "requests/x/status", "requests/ÄÖ"] {
      #expect(try await owner.look(.get, "/ai/fal/queue/fal-ai/flux/" + odd).status == 404)
    }
    #expect(try await owner.look(.put, call + "/cancel").status == 202)
  }

  @Test("RULES §5.7: another user of the same phone does not get the call of the first")
  func users() async throws {
    let server = try await AccountServer()
    let phone = try await server.whole.phone()
    let (first, second) = (try await server.signUp(), try await server.signUp())
    func send(_ request: HTTPRequest, as session: ClientSession) async throws -> HTTPResponse {
      var request = request
      request.fields["authorization"] = "Bearer " + session.accessToken
      return try await server.whole.send(try await phone.sign(request))
    }
    let receipt = try await send(Phone.picture("a cat", target: Phone.queue), as: first)
    let url = try #require(try await receipt.json["status_url"]?.string)
    let status = HTTPRequest(
      method: .get, target: String(url.dropFirst(WholeServer.audience.count)), peer: "192.0.2.1")
    #expect(try await send(status, as: first).status == 202)
    #expect(try await send(status, as: second).status == 404)
    // The phone is the second's now.
    #expect(try await server.whole.send(try await phone.sign(status)).status == 404)
    #expect(try await send(status, as: first).status != 404)
  }

  @Test("the call of a user who is deleted is nobody's, and is settled all the same")
  func deleted() async throws {
    let server = try await AccountServer()
    let phone = try await server.whole.phone()
    let session = try await server.signUp()
    var request = Phone.picture("a cat", target: Phone.queue)
    request.fields["authorization"] = "Bearer " + session.accessToken
    let receipt = try await server.whole.send(try await phone.sign(request))
    let url = try #require(try await receipt.json["response_url"]?.string)
    let deleted = try await server.ask(.delete, "/user", bearer: session.accessToken)
    #expect(deleted.status == 200)
    let target = String(url.dropFirst(WholeServer.audience.count))
    #expect(try await phone.look(.get, target).status == 404)
    await server.whole.attend(minutes: 5)
    #expect(try await server.whole.booked() == (price, price, 0))
    #expect(try await server.whole.usage().first?.userID == nil)
  }

  @Test("a session token opens the queue as well; one without the route does not")
  func tokens() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    func send(_ method: HTTPMethod, _ target: String, _ body: HTTPBody = .empty) async throws -> HTTPResponse
    {
      try await server.send(
        HTTPRequest(
          method: method, target: target,
          fields: ["authorization": "Key " + token, "content-type": "application/json"], body: body,
          peer: "192.0.2.1"))
    }
    let receipt = try await send(.post, Phone.queue, HTTPBody(#"{"prompt":"a"}"#))
    let url = try #require(try await receipt.json["status_url"]?.string)
    let target = String(url.dropFirst(WholeServer.audience.count))
    for query in ["?logs=False", "?logs=1", ""] {
      #expect(try await send(.get, target + query).status != 404)
    }
    #expect(try await send(.get, target + "?fal_webhook=x").status == 400)
    // Bought by the same key, so the phone itself may ask as well.
    #expect(try await phone.look(.get, target).status == 200)
  }
}
