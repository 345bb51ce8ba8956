import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// `POST /auth/v1/callback`: Apple's form post. It comes from another site, without our cookie, so it only stores
/// the verified identity and sends the browser on to a page of ours.
struct CallbackPostRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.callback
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard let flows = service.flows else { throw Failure.noWebClient }
    let form = try await request.body.collect(upTo: AuthorizationAnswer.maximumLength)
    let now = service.environment.now()
    guard let answer = AuthorizationAnswer(form: form) else {
      return Redirection.toSite(flows, .badOAuthCallback, "OAuth callback is incomplete")
    }
    let state: String?
    switch answer {
    case .granted(let grant): state = grant.state
    case .refused(_, let named): state = named
    }
    let badState = Redirection.toSite(flows, .badOAuthState, "OAuth state is missing, unknown, used or over")
    guard let state else { return badState }
    let flow = try await storage {
      try await service.ports.webFlows.answer(SHA256.hash(state), now: now)
    }
    guard let flow else { return badState }
    switch answer {
    case .refused(let error, _):
      exchange.notes.append(("diagnosis", .string("Apple: \(error)")))
      return Redirection.failed(
        flow.redirectTo, error: "access_denied", code: error, "The sign-in was not completed")
    case .granted(let grant):
      do {
        let code = try await flows.complete(flow, grant)
        let target = flows.callback + "?" + FormParameters([("code", code)]).text
        return HTTPResponse(status: 303, fields: ["location": target])
      } catch let failure as Failure {
        exchange.code = failure.code
        return Redirection.failed(flow.redirectTo, failure)
      }
    }
  }
}

/// `GET /auth/v1/callback?code=…`: the browser comes from our own redirection, now with its cookie, and goes on to
/// the app with the code.
struct CallbackRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.callback
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard let flows = service.flows else { throw Failure.noWebClient }
    guard let code = try request.parameters["code"] else {
      return Redirection.toSite(flows, .badOAuthCallback, "OAuth callback is incomplete")
    }
    let completed = try await storage { try await service.ports.webFlows.peek(SHA256.hash(code)) }
    guard let completed else {
      return Redirection.toSite(flows, .flowStateNotFound, "invalid flow state, no valid flow state found")
    }
    guard !completed.flow.isExpired(at: service.environment.now()) else {
      return Redirection.toSite(flows, .flowStateExpired, "invalid flow state, flow state has expired")
    }
    guard flows.isBrowser(of: completed.flow, request) else {
      return Redirection.toSite(flows, .badOAuthCallback, "The sign-in was begun in another browser")
    }
    return HTTPResponse(
      status: 302,
      fields: [
        "location": Redirection.url(completed.flow.redirectTo, query: [("code", code)]),
        "referrer-policy": "no-referrer",
      ])
  }
}

/// Sends browsers on, as Supabase Auth does.
enum Redirection {
  /// The URL with further parameters.
  static func url(_ base: String, query: [(String, String)]) -> String {
    base + (base.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormParameters(query).text
  }

  /// To the app with an error, in the query and in the fragment.
  static func failed(_ base: String, error: String, code: String, _ description: String) -> HTTPResponse {
    let parameters = [("error", error), ("error_code", code), ("error_description", description)]
    let target = url(base, query: parameters) + "#" + FormParameters(parameters).text + "&sb="
    return HTTPResponse(status: 302, fields: ["location": target])
  }

  static func failed(_ base: String, _ failure: Failure) -> HTTPResponse {
    let error =
      switch failure.status {
      case 401: "unauthorized_client"
      case 403: "access_denied"
      case 500: "server_error"
      case 503: "temporarily_unavailable"
      default: failure.code == .signUpDisabled ? "access_denied" : "invalid_request"
      }
    return failed(base, error: error, code: failure.code.rawValue, failure.message)
  }

  /// To the site, where nothing tells which app it was.
  static func toSite(_ flows: WebFlows, _ code: ErrorCode, _ description: String) -> HTTPResponse {
    let target = url(
      flows.site,
      query: [
        ("error", "invalid_request"), ("error_code", code.rawValue), ("error_description", description),
      ])
    return HTTPResponse(status: 303, fields: ["location": target])
  }
}
