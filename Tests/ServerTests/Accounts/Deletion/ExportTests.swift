import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("Everything that is held about a user") struct ExportTests {
  @Test("RULES §3.2: it is told to its user after a fresh sign-in, as one JSON without secrets")
  func export() async throws {
    let files = InMemoryFiles()
    let apple = try await AppleServer(owned: [files])
    let session = try await apple.signInWithCode(client: AppleServer.app)
    let other = try await apple.signIn(AppleServer.grace)
    files.put("a.jpg", of: try #require(UUID(session.userID)))
    files.put("b.jpg", of: try #require(UUID(other.userID)))
    let response = try await apple.server.ask(.get, "/user/export", bearer: session.accessToken)
    let text = try await response.text
    #expect(response.status == 200 && response.fields["cache-control"] == "no-store")
    let json = try JSONReader.read(Array(text.utf8))
    #expect(json["user"]?["id"]?.string == session.userID)
    #expect(json["user"]?["identities"]?.elements?.count == 1)
    #expect(json["owned"]?["files"]?.elements?.map(\.string) == ["a.jpg"])
    #expect(json["held"]?["sessions"]?.elements?.count == 1)
    #expect(json["held"]?["apple_refresh_tokens"]?.elements?.count == 1)
    #expect(json["held"]?["audit_log"]?.elements?.first?["action"]?.string == "user_signedup")
    let sealed = try #require(try await apple.stored().first?.sealed)
    for secret in [
      session.accessToken, session.refreshToken, Base64.encode(sealed), Hex.encode(sealed),
      AppleServer.grace, other.userID, "sb_secret",
    ] {
      #expect(!text.contains(secret))
    }
    apple.server.whole.clock.advance(seconds: 301)
    let late = try await apple.server.ask(.get, "/user/export", bearer: session.accessToken)
    #expect(try await Outcome(late) == Outcome(401, "insufficient_user_authentication"))
    #expect(try await Outcome(apple.server.ask(.get, "/user/export")) == Outcome(403, "bad_jwt"))
    // A guest has nothing to prove it with.
    let guest = try await apple.server.signUp()
    apple.server.whole.clock.advance(seconds: 600)
    #expect(try await apple.server.ask(.get, "/user/export", bearer: guest.accessToken).status == 200)
  }
}
