import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct FlowCookieTests {
  @Test("two flows that are begun in one browser both end, in any order", arguments: [[0, 1], [1, 0]])
  func twoFlows(_ order: [Int]) async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    let urls = [try await browser.authorize(), try await browser.authorize()]
    #expect(browser.cookies.count == 2)
    for place in order {
      let end = try await browser.consent(urls[place], place == 0 ? AppleServer.ada : AppleServer.grace)
      let code = try #require(Browser.parameters(end)["code"], "\(end)")
      let session = try await ClientSession(browser.exchange(code))
      #expect(session.user["email"]?.string == (place == 0 ? AppleServer.ada : AppleServer.grace))
    }
  }

  @Test("a browser has sixteen of them at most, and the newest is always one")
  func bound() async throws {
    let apple = try await AppleServer()
    var browser = Browser(apple)
    var last = ""
    for _ in 0..<40 {
      last = try await browser.authorize()
      #expect(browser.cookies.count <= FlowCookies.limit)
    }
    #expect(browser.cookies.count == FlowCookies.limit)
    #expect(try await Browser.parameters(browser.consent(last))["code"] != nil)
  }

  @Test(
    "nothing that a browser says is written back but names that are ours",
    arguments: [
      "bramley-flow-=1", "bramley-flow-A\r\nset-cookie: x=1", "bramley-flow-a b=1", "bramley-flow-é=1",
      "bramley-flow-" + String(repeating: "a", count: 17) + "=1", "bramley-flow-a", "=", ";;;",
    ])
  func foreignNames(_ cookie: String) {
    let cookies = FlowCookies(accountsURL: "https://api.example.com/x/auth/v1")
    let request = HTTPRequest(
      method: .get, target: "/",
      fields: ["cookie": [String](repeating: cookie, count: 40).joined(separator: "; ")])
    let lines = cookies.begin("0a", "v", life: 600, request)
    #expect(
      lines.first == "bramley-flow-0a=v; Path=/x/auth/v1; Max-Age=600; HttpOnly; SameSite=Lax; Secure")
    #expect(
      lines.dropFirst().allSatisfy {
        $0 == "bramley-flow-=; Path=/x/auth/v1; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
      })
    #expect(FlowCookies.match(SHA256.hash("v"), request) == false)
  }

  @Test("without TLS in front, as in dev, the cookie is not Secure")
  func withoutTLS() {
    let line = FlowCookies(accountsURL: "http://127.0.0.1:8080/auth/v1")
      .begin("1", "v", life: 1, HTTPRequest(method: .get, target: "/")).first
    #expect(line == "bramley-flow-1=v; Path=/auth/v1; Max-Age=1; HttpOnly; SameSite=Lax")
  }

  @Test("RULES §3.2: a second Apple Account is linked where the policy allows two, and a third is not")
  func twoIdentities() async throws {
    let apple = try await AppleServer { $0.auth?.apple?.identitiesPerUser = 2 }
    let session = try await apple.signIn()
    let linked = try await ClientSession(apple.link(AppleServer.grace, to: session))
    #expect(linked.userID == session.userID)
    #expect(linked.user["identities"]?.elements?.count == 2)
    let third = try await apple.link("alan@example.com", to: linked)
    #expect(third.status == 422)
    let strict = try await AppleServer()
    let only = try await strict.signIn()
    #expect(try await strict.link(AppleServer.grace, to: only).status == 422)
  }
}
