public import HTTPMessages

/// What a web client asks Apple's page for.
struct AuthorizationRequest {
  static let names = [
    "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
  ]

  let parameters: FormParameters
  let client: SimulatedAppleClient
  let redirectURI: String
  let givesToken: Bool
  /// `form_post`, `query` or `fragment`.
  let mode: String
  let scopes: Set<SimulatedScope>
  var state: String? { parameters["state"] }
  var nonce: String? { parameters["nonce"] }

  /// Judges the parameters as Apple does before it shows a page.
  init(_ parameters: FormParameters, clients: [SimulatedAppleClient]) throws(AppleIDRefusal) {
    for name in Self.names where parameters.values(name).count > 1 { throw .request("\(name) stands twice") }
    guard let client = clients.first(where: { $0.clientID == parameters["client_id"] }), client.kind == .web
    else {
      throw .client("client_id is no registered Services ID")
    }
    guard let uri = parameters["redirect_uri"], client.redirectURIs.contains(uri) else {
      throw .request("redirect_uri is not registered for the client, octet by octet")
    }
    let types = Set((parameters["response_type"] ?? "").split(separator: " ").map(String.init))
    guard types == ["code"] || types == ["code", "id_token"] else {
      throw .request("response_type is neither \"code\" nor \"code id_token\"")
    }
    var scopes: Set<SimulatedScope> = []
    for name in (parameters["scope"] ?? "").split(separator: " ") {
      guard let scope = SimulatedScope(rawValue: String(name)) else {
        throw AppleIDRefusal("invalid_scope", reason: "scope has more than name and email")
      }
      scopes.insert(scope)
    }
    let mode = parameters["response_mode"] ?? (types.contains("id_token") ? "fragment" : "query")
    guard ["form_post", "query", "fragment"].contains(mode) else { throw .request("unknown response_mode") }
    if !scopes.isEmpty, mode != "form_post" {
      throw .request("response_mode must be form_post when a scope is asked for")
    }
    if types.contains("id_token"), mode == "query" { throw .request("an id_token is not given in a query") }
    self.parameters = FormParameters(
      Self.names.compactMap { name in parameters[name].map { (name, $0) } })
    self.client = client
    redirectURI = uri
    givesToken = types.contains("id_token")
    self.mode = mode
    self.scopes = scopes
  }
}

/// What the browser carries back to the web client.
public struct SimulatedRedirect: Sendable, Equatable {
  /// Where to.
  public var redirectURI: String
  /// The form, or the parameters of the query or fragment: `code`, `id_token`, `state`, `user`, or `error`.
  public var form: FormParameters

  /// The browser's request, when it is a form post: to the path of the redirect URI.
  public var request: HTTPRequest {
    let rest = redirectURI.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return HTTPRequest(
      method: .post, scheme: String(rest.first?.dropLast() ?? ""),
      authority: rest.count > 2 ? String(rest[2]) : "",
      target: "/" + (rest.count > 3 ? rest[3] : ""),
      fields: [
        "content-type": "application/x-www-form-urlencoded", "origin": "https://appleid.apple.com",
      ], body: HTTPBody(form.text))
  }
}
