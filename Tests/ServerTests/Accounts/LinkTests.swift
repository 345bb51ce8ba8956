import Accounts
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct LinkTests {
  @Test("linking keeps the user and shows the new identity in the very answer")
  func link() async throws {
    let apple = try await AppleServer()
    let anonymous = try await apple.server.signUp(#"{"data":{"theme":"dark"}}"#)
    let linked = try await ClientSession(apple.link(to: anonymous))
    #expect(linked.userID == anonymous.userID)
    #expect(try linked.sessionID != anonymous.sessionID)
    #expect(linked.user["is_anonymous"]?.bool == false)
    #expect(linked.user["identities"]?.elements?.count == 1)
    #expect(linked.user["user_metadata"]?["theme"]?.string == "dark")
    #expect(try linked.claims["is_anonymous"]?.bool == false)
    let later = try await apple.signIn()
    #expect(later.userID == anonymous.userID)
  }

  @Test("RULES §3.8: the old session goes on until the new one is seen, then its refresh token stops")
  func retirement() async throws {
    let apple = try await AppleServer()
    let server = apple.server
    let old = try await server.signUp()
    let linked = try await ClientSession(apple.link(to: old))
    #expect(try await server.ask(.get, "/user", bearer: old.accessToken).status == 200)
    #expect(try await server.ask(.get, "/user", bearer: linked.accessToken).status == 200)
    let grace = try await ClientSession(server.refresh(old.refreshToken))
    #expect(try grace.sessionID == linked.sessionID)
    server.whole.clock.advance(seconds: 61)
    #expect(try await server.refresh(old.refreshToken).status == 400)
    #expect(try await server.ask(.get, "/user", bearer: old.accessToken).status == 200)
  }

  @Test("RULES §3.8: the same link again by the old bearer is 200")
  func again() async throws {
    let apple = try await AppleServer()
    let anonymous = try await apple.server.signUp()
    let body = try await AppleServer.body(apple.sheet(), [("link_identity", true)])
    let first = try await ClientSession(apple.grant(body, bearer: anonymous.accessToken))
    let second = try await ClientSession(apple.grant(body, bearer: anonymous.accessToken))
    #expect(try first.sessionID == second.sessionID)
    let third = try await ClientSession(apple.link(to: anonymous))
    #expect(third.userID == anonymous.userID)
  }

  @Test("linking wants a valid user's token, and says what is wrong with any other")
  func bearers() async throws {
    let apple = try await AppleServer()
    let body = try await AppleServer.body(apple.sheet(), [("link_identity", true)])
    #expect(try await Outcome(apple.grant(body)) == Outcome(403, "bad_jwt"))
    let none = try await apple.server.whole.send(
      HTTPRequest(
        method: .post, target: "/auth/v1/token?grant_type=id_token", body: HTTPBody(body), peer: "192.0.2.1"))
    #expect(none.status == 400)
    #expect(
      try await none.json["error_description"]?.string
        == "Linking requires a valid user access token in Authorization")
    let gone = try await apple.server.signUp()
    _ = try await apple.server.ask(.post, "/logout", bearer: gone.accessToken)
    #expect(
      try await Outcome(apple.grant(body, bearer: gone.accessToken)) == Outcome(403, "session_not_found"))
    let shut = try await AppleServer { $0.auth?.manualLinking = false }
    let user = try await shut.server.signUp()
    #expect(try await Outcome(shut.link(to: user)) == Outcome(404, "manual_linking_disabled"))
  }

  @Test("a conflict is told, leaves the session alone, and burns no token for a plain sign-in")
  func conflict() async throws {
    let apple = try await AppleServer()
    let owner = try await apple.signIn()
    let anonymous = try await apple.server.signUp()
    let sheet = try await apple.sheet()
    let body = AppleServer.body(sheet, [("link_identity", true)])
    let conflict = try await apple.grant(body, bearer: anonymous.accessToken)
    #expect(conflict.status == 422)
    let answer = try await conflict.json
    #expect(answer["code"]?.string == "identity_already_exists")
    #expect(answer["message"]?.string == "Identity is already linked to another user")
    #expect(answer["switch_ticket"]?.string?.utf8.count == 43)
    #expect(try await apple.server.ask(.get, "/user", bearer: anonymous.accessToken).status == 200)
    _ = try await ClientSession(apple.server.refresh(anonymous.refreshToken))
    let plain = try await ClientSession(apple.grant(AppleServer.body(sheet)))
    #expect(plain.userID == owner.userID)
    // A user who has an identity may not have another of the team (RULES §3.2).
    let more = try await apple.link(AppleServer.grace, to: owner)
    #expect(try await Outcome(more) == Outcome(422, "identity_limit_reached"))
    #expect(try await Outcome(apple.link(to: owner)) == Outcome(422, "identity_already_exists"))
  }

  @Test("RULES §3.5: reuse by a user with an identity ends the session, and with it both of its tokens")
  func reuse() async throws {
    let apple = try await AppleServer()
    let first = try await apple.signIn()
    let second = try await ClientSession(apple.server.refresh(first.refreshToken))
    let third = try await ClientSession(apple.server.refresh(second.refreshToken))
    #expect(
      try await Outcome(apple.server.refresh(first.refreshToken))
        == Outcome(400, "refresh_token_already_used"))
    #expect(
      try await Outcome(apple.server.refresh(third.refreshToken)) == Outcome(400, "refresh_token_not_found"))
    #expect(
      try await Outcome(apple.server.ask(.get, "/user", bearer: third.accessToken))
        == Outcome(403, "session_not_found"))
  }

  @Test("contract 3: the requests of supabase-swift are answered so that it parses them")
  func swift() async throws {
    let apple = try await AppleServer()
    let fields: HTTPFields = [
      "apikey": "sb_publishable_x", "authorization": "Bearer sb_publishable_x", "accept": "application/json",
      "content-type": "application/json", "x-client-info": "auth-swift/2.55.1",
      "x-supabase-api-version": "2024-01-01",
    ]
    func send(
      _ method: HTTPMethod, _ target: String, _ body: String = "", _ bearer: String? = nil
    ) async throws -> HTTPResponse {
      var fields = fields
      if let bearer { fields["authorization"] = "Bearer " + bearer }
      return try await apple.server.whole.send(
        HTTPRequest(
          method: method, target: "/auth/v1" + target, fields: fields, body: HTTPBody(body), peer: "192.0.2.1"
        ))
    }
    let anonymous = try await ClientSession(send(.post, "/signup", "{}"))
    let sheet = try await apple.sheet()
    let link =
      #"{"nonce":"\#(sheet.raw)","link_identity":true,"provider":"apple","id_token":"\#(sheet.granted.identityToken)"}"#
    let linked = try await ClientSession(
      send(.post, "/token?grant_type=id_token", link, anonymous.accessToken))
    #expect(linked.userID == anonymous.userID)
    let other = try await apple.sheet(AppleServer.grace)
    let body =
      #"{"id_token":"\#(other.granted.identityToken)","provider":"apple","nonce":"\#(other.raw)","link_identity":false}"#
    let session = try await ClientSession(send(.post, "/token?grant_type=id_token", body))
    #expect(session.userID != anonymous.userID)
    let put = try await send(
      .put, "/user?redirect_to=com.example.app://signed-in", #"{"data":{"a":"b"}}"#, session.accessToken)
    try ClientSession.requireUser(try await put.json)
    let id = session.user["identities"]?.elements?.first?["identity_id"]?.string?.uppercased() ?? ""
    let unlink = try await send(.delete, "/user/identities/" + id, "", session.accessToken)
    let error = try await unlink.json
    #expect(unlink.fields["x-supabase-api-version"] == "2024-01-01")
    #expect(error.members?.map(\.name) == ["code", "message"] && error["code"]?.string != nil)
    #expect(try await send(.post, "/logout?scope=global", "", session.accessToken).status == 204)
  }

  @Test("the last identity stays; an operator's API and the app agree about it")
  func unlink() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signIn()
    let id = session.user["identities"]?.elements?.first?["identity_id"]?.string?.uppercased() ?? ""
    #expect(
      try await Outcome(
        apple.server.ask(.delete, "/user/identities/\(id)", bearer: session.accessToken))
        == Outcome(422, "single_identity_not_deletable"))
  }
}
