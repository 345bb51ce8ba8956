import HTTPMessages

/// The pages of the simulated Apple.
enum AuthorizePage {
  /// Asks who signs in.
  static func consent(_ request: AuthorizationRequest, accounts: [SimulatedAccount]) -> HTTPResponse {
    let hidden = request.parameters.parameters.map { hiddenField($0.name, $0.value) }.joined()
    let choices = accounts.enumerated().map { index, account in
      """
      <label><input type="radio" name="account" value="\(escaped(account.email))"\(index == 0 ? " checked" : "")>
      \(escaped(account.firstName)) \(escaped(account.lastName)) <small>\(escaped(account.email))</small></label>

      """
    }.joined()
    return page(
      """
      <h1>Sign in with a simulated Apple Account</h1>
      <p>to use <b>\(escaped(request.client.clientID))</b>. Nobody here is real, and nothing leaves this machine.</p>
      <form method="post" action="authorize">
      \(hidden)<fieldset><legend>An account</legend>
      \(choices)</fieldset>
      <fieldset><legend>or another one</legend>
      <label>E-mail <input name="email" type="email" autocomplete="off"></label>
      <label>First name <input name="first_name" autocomplete="off"></label>
      <label>Last name <input name="last_name" autocomplete="off"></label></fieldset>
      <label><input type="checkbox" name="hide_email" value="1"> Hide My Email</label>
      <p><button name="decision" value="continue">Continue</button>
      <button name="decision" value="cancel">Cancel</button></p>
      </form>
      """)
  }

  /// Carries the answer to the client by a form that sends itself.
  static func formPost(_ redirect: SimulatedRedirect) -> HTTPResponse {
    page(
      """
      <form id="answer" method="post" action="\(escaped(redirect.redirectURI))">
      \(redirect.form.parameters.map { hiddenField($0.name, $0.value) }.joined())
      <button>Back to the app</button></form>
      <script>document.getElementById("answer").submit()</script>
      """)
  }

  /// Says why there is no page.
  static func refused(_ refusal: AppleIDRefusal) -> HTTPResponse {
    page(
      "<h1>\(escaped(refusal.error))</h1><p>\(escaped(refusal.reason ?? refusal.detail ?? ""))</p>",
      status: 400)
  }

  private static func hiddenField(_ name: String, _ value: String) -> String {
    "<input type=\"hidden\" name=\"\(escaped(name))\" value=\"\(escaped(value))\">\n"
  }

  /// A text that no HTML can come out of.
  static func escaped(_ text: String) -> String {
    var out: [UInt8] = []
    for octet in text.utf8 {
      switch octet {
      case UInt8(ascii: "&"): out += "&amp;".utf8
      case UInt8(ascii: "<"): out += "&lt;".utf8
      case UInt8(ascii: ">"): out += "&gt;".utf8
      case UInt8(ascii: "\""): out += "&quot;".utf8
      case UInt8(ascii: "'"): out += "&#39;".utf8
      default: out.append(octet)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  private static func page(_ content: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status,
      fields: [
        "content-type": "text/html; charset=utf-8", "cache-control": "no-store",
        "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
      ],
      body: HTTPBody(
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><title>Simulated Apple ID</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <style>body{font:17px system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;\
        color-scheme:light dark}label{display:block;margin:.5rem 0}fieldset{border:1px solid #8888;\
        border-radius:.6rem;margin:1rem 0}button{font:inherit;padding:.5rem 1rem}</style></head><body>
        \(content)
        </body></html>

        """))
  }
}
