import BramleyTesting
import Gateway
import HTTPMessages
import Testing

@testable import Server

/// Functions that ask for a user.
@Suite struct FunctionSignInTests {
  private static func function(
    _ name: String, _ signIn: Configuration.Function.SignIn, maximumAge: Int64? = nil
  ) throws -> Configuration.Function {
    var function = Configuration.Function(
      FunctionDefinition(
        name: name, provider: "anthropic", model: "claude-haiku-4-5",
        prompt: .messages(system: nil, [.init(.user, try FunctionTemplate("Say hello."))])))
    function.signIn = signIn
    function.maximumAge = maximumAge
    return function
  }

  private func call(
    _ name: String, _ phone: Phone, as session: ClientSession?
  ) async throws -> Outcome {
    var request = Phone.call(name, "{}")
    if let session { request.fields["authorization"] = "Bearer " + session.accessToken }
    return try await Outcome(phone.server.send(try await phone.sign(request)))
  }

  @Test("a function lets in whom it asks for: any user, one with an identity, one who signed in of late")
  func users() async throws {
    let functions = [
      try Self.function("member", .anonymous), try Self.function("owner", .identity),
      try Self.function("fresh", .identity, maximumAge: 300),
    ]
    let apple = try await AppleServer { $0.functions = functions }
    let whole = apple.server.whole
    let phone = try await whole.phone()
    for function in functions {
      #expect(try await call(function.definition.name, phone, as: nil).status == 401)
    }
    let guest = try await apple.server.signUp()
    #expect(try await call("owner", phone, as: guest) == Outcome(403, "identity_required"))
    #expect(try await call("fresh", phone, as: guest) == Outcome(403, "identity_required"))
    let ada = try await apple.signIn()
    whole.clock.advance(seconds: 301)
    #expect(
      try await call("fresh", phone, as: ada) == Outcome(401, "insufficient_user_authentication"))
    #expect(whole.upstreamRequests.values.isEmpty, "nobody who is refused reaches the provider")

    #expect(try await call("member", phone, as: guest).status == 200)
    #expect(try await call("owner", phone, as: ada).status == 200)
    #expect(try await call("fresh", phone, as: try await apple.signIn()).status == 200)
    #expect(whole.upstreamRequests.values.count == 3)

    // A session that ended opens nothing any more, whatever its token says.
    #expect(try await apple.server.ask(.post, "/logout", bearer: ada.accessToken).status == 204)
    #expect(try await call("owner", phone, as: ada).status == 403)
    #expect(whole.upstreamRequests.values.count == 3)
  }
}
