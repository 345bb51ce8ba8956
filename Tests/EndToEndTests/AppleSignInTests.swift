import Encodings
import Foundation
import Testing

@Suite("A simulated Apple Account against bramley dev")
struct AppleSignInTests {
  private func signIn(_ server: DevelopmentServer, _ arguments: [String]) async throws -> JSONNode {
    let run = try await Program.run(
      ["simulate", "apple", "sign-in", "--json"] + arguments + server.phone, in: server.folder)
    try #require(run.code == 0, "\(run.errors)")
    return try JSONReader.read(Array(run.output.utf8))
  }

  @Test("it is one user on every phone, also after the server and its Apple were killed")
  func sameUser() async throws {
    let server = try await DevelopmentServer()
    let first = try await signIn(server, [])
    let id = try #require(first["user"]?["id"]?.string)
    #expect(first["user"]?["is_anonymous"]?.bool == false)
    #expect(first["user"]?["user_metadata"]?["full_name"]?.string == "Ada Lovelace")
    server.program.kill(SIGKILL)
    _ = try await server.program.exitCode()

    let again = try await DevelopmentServer(after: server)
    let second = try await signIn(again, ["--device", "other"])
    #expect(second["user"]?["id"]?.string == id)
    // The name came once, and is kept.
    #expect(second["user"]?["user_metadata"]?["full_name"]?.string == "Ada Lovelace")
    let other = try await signIn(again, ["--account", "tim", "--hide-email"])
    #expect(other["user"]?["id"]?.string != id)
    #expect(other["user"]?["email"]?.string?.hasSuffix("@privaterelay.appleid.com") == true)
    #expect(!again.program.errorText.contains("apple_code_not_exchanged"), "\(again.program.errorText)")
    #expect(try await again.stop() == 0)
  }

  @Test("linking keeps the phone's user; an identity of another user is a conflict, and 1")
  func linking() async throws {
    let server = try await DevelopmentServer()
    let linked = try await signIn(server, ["--link"])
    #expect(linked["user"]?["identities"]?.elements?.count == 1)
    #expect(linked["user"]?["is_anonymous"]?.bool == false)
    let arguments = ["simulate", "apple", "sign-in", "--link", "--device", "other"] + server.phone
    let refused = try await Program.run(arguments, in: server.folder)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("identity_already_exists (422)"), "\(refused.errors)")
    #expect(refused.output.isEmpty)
    // The other phone still has its anonymous user, and can link another account to it.
    let kept = try await signIn(server, ["--link", "--device", "other", "--account", "grace"])
    #expect(kept["user"]?["id"]?.string != linked["user"]?["id"]?.string)
    #expect(try await server.stop() == 0)
  }

  @Test("who withdraws consent is signed out by Apple's notification, and comes back as the same user")
  func withdrawn() async throws {
    let server = try await DevelopmentServer()
    let first = try await signIn(server, ["--hide-email"])
    for change in ["email-off", "revoke"] {
      let run = try await Program.run(
        ["simulate", "apple", "settings", change] + server.phone, in: server.folder)
      #expect(run.code == 0 && run.output.contains("once"), "\(run.errors)")
    }
    // A token of the second in which consent ended would be refused.
    try await Task.sleep(for: .milliseconds(1_100))
    let refused = try await Program.run(
      ["simulate", "apple", "sign-in", "--link"] + server.phone, in: server.folder)
    #expect(refused.code == 1 && refused.errors.contains("refresh_token_not_found"), "\(refused.errors)")
    let again = try await signIn(server, [])
    #expect(again["user"]?["id"]?.string == first["user"]?["id"]?.string)
    let nonsense = try await Program.run(
      ["simulate", "apple", "settings", "nothing"] + server.phone, in: server.folder)
    #expect(nonsense.code == 64, "\(nonsense.errors)")
    #expect(try await server.stop() == 0)
  }
}
