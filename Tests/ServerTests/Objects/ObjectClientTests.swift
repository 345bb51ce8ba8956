import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("The SDK and what functions store") struct ObjectClientTests {
  @Test("an answer names objects, and they are downloaded with the user's token alone")
  func download() async throws {
    let server = try await StoringServer()
    let client = try server.whole.client()
    let (ada, grace) = (try await server.signUp(), try await server.signUp())
    let answer = try await client.callFunction("creature", ["name": "Mo"], accessToken: ada.accessToken)
    let object = try #require(answer.objects.first)
    #expect(answer.objects.count == 1 && answer.images.isEmpty && answer.notStored == nil)
    #expect(object.contentType == "image/png" && answer.stop == "end")
    let bytes = try await client.object(object, accessToken: ada.accessToken).collect(upTo: 1 << 20)
    #expect(bytes.count == object.bytes)
    let stranger = await #expect(throws: BramleyError.self) {
      try await client.object(object, accessToken: grace.accessToken)
    }
    #expect(stranger?.code == .objectNotFound && stranger?.status == 404)
  }

  @Test("an answer that could not be stored says why, and holds what was made")
  func notStored() async throws {
    let server = try await StoringServer(files: { _ in throw HTTPClientError.connect })
    let client = try server.whole.client()
    let ada = try await server.signUp()
    let answer = try await client.callFunction("creature", ["name": "Mo"], accessToken: ada.accessToken)
    #expect(answer.notStored == .objectNotStored && answer.objects.isEmpty && answer.images.count == 1)
  }
}
