import Encodings
import HTTPMessages
import Testing

@testable import SignInWithApple

@Suite("What comes back through the browser")
struct AuthorizationAnswerTests {
  private func grant(_ form: [(String, String)]) -> AuthorizationAnswer.Grant? {
    guard case .granted(let grant) = AuthorizationAnswer(form: Array(FormParameters(form).text.utf8)) else {
      return nil
    }
    return grant
  }

  @Test("a consent has state, code and token, and at first a name")
  func granted() throws {
    let user = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"forged@example.com"}"#
    let first = try #require(grant([("state", "s"), ("code", "c"), ("id_token", "a.b.c"), ("user", user)]))
    #expect(first.state == "s" && first.code == "c" && first.idToken == "a.b.c")
    #expect(first.fullName == AppleFullName(given: "Ada", family: "Lovelace"))
    var text = ""
    dump(first, to: &text)
    #expect(!text.contains("forged"), "the form's e-mail is read nowhere")
    #expect(grant([("state", "s"), ("code", "c"), ("id_token", "a.b.c")])?.fullName == nil)
  }

  @Test("a name is never worth a sign-in")
  func oddNames() {
    for user in [
      "", "{", "null", "[]", "{}", #"{"name":null}"#, #"{"name":[]}"#, #"{"name":{"firstName":1}}"#,
      #"{"name":{},"name":{}}"#, String(repeating: " ", count: 8_193),
    ] {
      let grant = grant([("state", "s"), ("code", "c"), ("id_token", "a.b.c"), ("user", user)])
      #expect(grant != nil && grant?.fullName == nil, "\(user.prefix(40))")
    }
  }

  @Test("a name is made fit to be shown")
  func names() {
    func fit(_ text: String) -> String? { AppleFullName(given: text, family: nil)?.given }
    #expect(fit("  Ada\n\t King ") == "Ada King")
    #expect(fit("\u{202E}evil\u{202C}") == "evil")
    #expect(fit("a\u{0}\u{7}\u{1B}[31mb") == "a[31mb")
    #expect(fit("<script>alert(1)</script>") == "scriptalert(1)/script")
    #expect(fit("Zoë 🧑‍🔬") == "Zoë 🧑‍🔬")
    #expect(fit("نور") == "نور")
    for empty in ["", " ", "\u{200B}\u{FEFF}", "\u{0}"] { #expect(fit(empty) == nil) }
    #expect(fit(String(repeating: "x", count: 5_000))?.count == 64)
    let tower = "a" + String(repeating: "\u{301}", count: 900)
    #expect(fit(tower) == nil, "one character of a thousand octets is no name")
    #expect(AppleFullName(given: nil, family: "") == nil)
    #expect(AppleFullName(given: " ", family: "X")?.given == nil)
  }

  @Test("a refusal is told, and what Apple does not send is nothing")
  func refused() {
    func answer(_ text: String) -> AuthorizationAnswer? { AuthorizationAnswer(form: Array(text.utf8)) }
    guard case .refused("user_cancelled_authorize", "s")? = answer("error=user_cancelled_authorize&state=s")
    else {
      Issue.record("no refusal")
      return
    }
    guard
      case .refused(let error, nil)? = answer(
        "error=%0D%0AX%3Cscript%3E" + String(repeating: "y", count: 100))
    else {
      Issue.record("no refusal")
      return
    }
    #expect(!error.contains("\r") && error.count <= 81)
    for text in [
      "", "state=s", "state=s&code=c", "code=c&id_token=t", "state=s&id_token=t", "state=&code=c&id_token=t",
      "state=s&code=&id_token=t", "state=s&code=c&id_token=", "state=s&state=s&code=c&id_token=t",
      "state=s&code=c&code=d&id_token=t", "state=s&code=c&id_token=t&id_token=u",
      "state=%zz&code=c&id_token=t",
      "state=" + String(repeating: "s", count: 2_049) + "&code=c&id_token=t",
      "state=s&code=c&id_token=t&x=" + String(repeating: "s", count: 40_000),
    ] {
      #expect(answer(text) == nil, "\(text.prefix(60))")
    }
    #expect(AuthorizationAnswer(form: [0xFF, 0xFE]) == nil)
  }
}
