import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// Sign in with Apple in a browser, from its beginning to the code that the app exchanges.
struct WebFlows: Sendable {
  /// Milliseconds from the beginning to Apple's answer.
  static let life: Int64 = 600_000
  /// Milliseconds that the app has to exchange the code.
  static let codeLife: Int64 = 300_000

  let service: AccountService
  let apple: AppleSignIn

  /// Begins a flow; Apple's page, and the cookies that bind the browser where it comes here itself.
  ///
  /// - Parameters:
  ///   - linking: the session that the identity is to be linked to.
  ///   - browser: the request of the browser itself; nil where an app asks for the URL, whose cookies are not the
  ///     browser's.
  func begin(
    _ asked: AuthorizeRequest, linking: UUID?, browser: HTTPRequest?
  ) async throws -> (url: String, cookies: [String]) {
    guard let client = apple.apple.webClient else { throw Failure.noWebClient }
    let environment = service.environment
    let state = Base64.encodeURL(environment.random(32))
    let nonce = Base64.encodeURL(environment.random(32))
    let binding = browser == nil ? nil : Base64.encodeURL(environment.random(32))
    let flow = WebFlow(
      id: try service.identifier(), stateHash: SHA256.hash(state),
      browserHash: binding.map { SHA256.hash($0) },
      nonce: nonce, clientID: client.clientID, redirectTo: asked.redirectTo,
      codeChallenge: asked.codeChallenge, isS256: asked.isS256, linking: linking,
      expiresAt: environment.now() + Self.life)
    try await storage { try await service.ports.webFlows.begin(flow) }
    let url = AppleRequests(service: service.ports.appleService).authorizeURL(
      clientID: client.clientID, redirectURI: callback, state: state, nonce: nonce)
    guard let browser, let binding else { return (url, []) }
    let cookies = FlowCookies(accountsURL: environment.configuration.accountsURL)
    let name = String(Hex.encode(flow.id.octets).prefix(12))
    return (url, cookies.begin(name, binding, life: Self.life / 1000, browser))
  }

  /// Where Apple sends the browser back to.
  var callback: String { service.environment.configuration.accountsURL + "/callback" }

  /// Where a browser goes that has nowhere else to go.
  var site: String {
    let configuration = service.environment.configuration
    return service.auth.siteURL ?? configuration.attest.audiences.first ?? "http://\(configuration.listen)"
  }

  /// Takes Apple's answer to a flow: verifies the identity, exchanges the code, and stores both under a code of
  /// ours, which it returns. No account is changed (RULES §3.1).
  func complete(_ flow: WebFlow, _ grant: AuthorizationAnswer.Grant) async throws -> String {
    let environment = service.environment
    let identity = try await apple.verify(
      grant.idToken, nonce: .challenge(flow.nonce), code: grant.code, now: environment.now())
    guard identity.clientID == flow.clientID else { throw Failure.identityToken(.claim("aud")) }
    let token = try await apple.exchange.exchange(code: grant.code, of: identity, redirectURI: callback)
    let code = Base64.encodeURL(environment.random(32))
    let assertion = IdentityAssertion(
      identity, fullName: grant.fullName, requestHash: [], challengeHash: nil)
    try await storage {
      try await service.ports.webFlows.complete(
        flow.id, with: assertion, token: token, codeHash: SHA256.hash(code),
        expiresAt: environment.now() + Self.codeLife)
    }
    return code
  }

  /// Whether the request comes from the browser that the flow was begun in.
  func isBrowser(of flow: WebFlow, _ request: HTTPRequest) -> Bool {
    guard let hash = flow.browserHash else { return true }
    return FlowCookies.match(hash, request)
  }
}

/// What `authorize` is asked.
struct AuthorizeRequest: Sendable {
  let redirectTo: String
  let codeChallenge: String
  let isS256: Bool

  /// Reads the query. The implicit flow is off: without a `code_challenge` nothing begins (RULES §3.1).
  init(_ parameters: FormParameters, _ flows: WebFlows?, auth: Configuration.Auth) throws(Failure) {
    guard let provider = parameters["provider"] else {
      throw .validation("Unsupported provider: missing provider")
    }
    guard provider == "apple", let flows else {
      let name = String(provider.prefix(64))
      throw .validation("Unsupported provider: Provider \(name) could not be found")
    }
    guard let challenge = parameters["code_challenge"] else {
      throw .validation("PKCE flow requires code_challenge_method and code_challenge")
    }
    switch parameters["code_challenge_method"]?.lowercased() {
    case "s256": isS256 = true
    case "plain": isS256 = false
    case nil: throw .validation("PKCE flow requires code_challenge_method and code_challenge")
    default: throw .validation("code_challenge_method must be s256 or plain")
    }
    guard (43...128).contains(challenge.utf8.count) else {
      throw .validation("code challenge has to be between 43 and 128 characters")
    }
    guard challenge.utf8.allSatisfy(Self.isUnreserved) else {
      throw .validation(
        "code challenge can only contain alphanumeric characters, hyphens, periods, "
          + "underscores and tildes")
    }
    codeChallenge = challenge
    let asked = parameters["redirect_to"]
    redirectTo = asked.flatMap { auth.redirects.allows($0) ? $0 : nil } ?? flows.site
  }

  /// RFC 7636 §4.1.
  static func isUnreserved(_ octet: UInt8) -> Bool {
    switch octet {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
