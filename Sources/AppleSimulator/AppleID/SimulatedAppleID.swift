import Cryptography
import Encodings
public import HTTPMessages

/// Sign in with Apple, played on this machine: `/auth/keys`, `/auth/authorize` with a consent page, `/auth/token`,
/// `/auth/revoke` and `/auth/usermigrationinfo` as Apple answers them, and what happens on devices and in Apple's settings, driven by code.
///
/// Whatever it signs is signed with keys of its own, which no server trusts unless it is told to ask this Apple for
/// them. It judges client secrets, codes and redirect URIs as strictly as Apple; where Apple's answer says nothing,
/// ``reasons`` does.
public actor SimulatedAppleID: HTTPHandler {
  /// The life of a code, seconds.
  public static let codeLife: Int64 = 300
  /// The life of an access token, seconds.
  public static let accessTokenLife: Int64 = 3_600
  /// The longest life of a client secret, seconds: six months.
  public static let longestSecretLife: Int64 = 15_777_000

  /// What it does differently from Apple today.
  public var behaviour = AppleIDBehaviour()
  /// Why requests were refused, the last hundred, newest last: what Apple does not say.
  public internal(set) var reasons: [String] = []
  /// How often each door was knocked at.
  public internal(set) var calls: [AppleIDEndpoint: Int] = [:]

  var clients: [SimulatedAppleClient]
  let now: @Sendable () -> Int64
  let random: @Sendable (Int) -> [UInt8]
  let sleep: @Sendable (Duration) async throws -> Void
  var ledger: AppleIDLedger
  /// Published, the newest last.
  var keys: [SimulatedAppleKey]
  /// Signs, though it is not published.
  var hiddenKey: SimulatedAppleKey?
  var signatures = 0
  var failures: [AppleIDEndpoint: (failure: AppleIDFailure, times: Int)] = [:]

  /// A simulated Apple.
  ///
  /// - Parameters:
  ///   - clients: what developers registered.
  ///   - accounts: who has an account; the consent page makes more.
  ///   - keys: what tokens are signed with, in turns; fresh ones when it is empty.
  ///   - now: seconds since 1970.
  ///   - random: so many octets; the system's randomness, when nil.
  ///   - sleep: waits; throws `CancellationError` when the task is cancelled.
  public init(
    clients: [SimulatedAppleClient], accounts: [SimulatedAccount] = SimulatedAccount.samples,
    keys: [SimulatedAppleKey] = [], now: @escaping @Sendable () -> Int64,
    random: (@Sendable (Int) -> [UInt8])? = nil,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws(SimulatorError) {
    self.clients = clients
    self.now = now
    self.random = { count in
      let octets = random?(count) ?? SecureRandom.bytes(count)
      precondition(octets.count == count, "the source of randomness gives another number of octets")
      return octets
    }
    self.sleep = sleep
    self.keys = keys.isEmpty ? [try SimulatedAppleKey(), try SimulatedAppleKey()] : keys
    ledger = AppleIDLedger(accounts: accounts)
  }

  /// Changes what it does differently.
  public func behave(_ change: @Sendable (inout AppleIDBehaviour) -> Void) { change(&behaviour) }

  /// Lets the next requests at a door fail.
  public func fail(_ endpoint: AppleIDEndpoint, with failure: AppleIDFailure, times: Int = 1) {
    failures[endpoint] = times > 0 ? (failure, times) : nil
  }

  /// Answers as Apple would. Throws `CancellationError` out of a wait, and `HTTPClientError` for the failures that
  /// are no answers.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard let endpoint = Self.endpoint(of: request) else { return other(request) }
    calls[endpoint, default: 0] += 1
    if behaviour.delay > .zero { try await sleep(behaviour.delay) }
    let failure = takeFailure(endpoint)
    if let response = failure?.response { return response }
    if failure == .unreachable { throw HTTPClientError.connect }
    if case .silence(let time)? = failure {
      try await sleep(time)
      throw HTTPClientError.timedOut(.head)
    }
    let body = try await request.body.collect(upTo: 1 << 20)
    let response: HTTPResponse
    do throws(AppleIDRefusal) {
      response = try answer(endpoint, request, body)
    } catch {
      note("\(endpoint.rawValue): \(error.error): \(error.reason ?? error.detail ?? "")")
      response = endpoint == .authorize ? AuthorizePage.refused(error) : error.response
    }
    if failure == .lostAnswer { throw HTTPClientError.interrupted }
    return response
  }

  private func answer(
    _ endpoint: AppleIDEndpoint, _ request: HTTPRequest, _ body: [UInt8]
  ) throws(AppleIDRefusal) -> HTTPResponse {
    switch endpoint {
    case .keys: Self.json(["keys": .array(keys.map(\.jwk))])
    case .authorize: try authorize(request, body)
    case .token: try token(try form(request, body))
    case .revoke: try revoke(try form(request, body))
    case .transfer: try migrate(try form(request, body), request.fields)
    }
  }

  /// The form of a request; another content type is `invalid_client`, as at Apple.
  private func form(_ request: HTTPRequest, _ body: [UInt8]) throws(AppleIDRefusal) -> FormParameters {
    let type = request.fields["content-type"]?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else {
      throw .client("the content type is not application/x-www-form-urlencoded")
    }
    guard let text = String(validating: body, as: UTF8.self), let form = FormParameters(parsing: text) else {
      throw .request("the body is no form")
    }
    return form
  }

  private func takeFailure(_ endpoint: AppleIDEndpoint) -> AppleIDFailure? {
    guard let (failure, times) = failures[endpoint] else { return nil }
    failures[endpoint] = times > 1 ? (failure, times - 1) : nil
    return failure
  }

  func note(_ reason: String) {
    reasons.append(reason)
    if reasons.count > 100 { reasons.removeFirst() }
  }

  static func json(_ value: JSONValue) -> HTTPResponse {
    HTTPResponse(
      status: 200,
      fields: ["content-type": "application/json;charset=ISO-8859-1", "cache-control": "no-store"],
      body: HTTPBody(value.bytes))
  }

  private static func endpoint(of request: HTTPRequest) -> AppleIDEndpoint? {
    switch (request.method, request.path) {
    case (.get, "/auth/keys"): .keys
    case (.get, "/auth/authorize"), (.post, "/auth/authorize"): .authorize
    case (.post, "/auth/token"): .token
    case (.post, "/auth/revoke"): .revoke
    case (.post, "/auth/usermigrationinfo"): .transfer
    default: nil
    }
  }

  private func other(_ request: HTTPRequest) -> HTTPResponse {
    guard request.method == .get, request.path == "/.well-known/openid-configuration" else {
      return HTTPResponse(status: 404)
    }
    let base = "https://appleid.apple.com/auth"
    return Self.json([
      "issuer": .string(behaviour.discoveryIssuer), "authorization_endpoint": .string(base + "/authorize"),
      "token_endpoint": .string(base + "/token"), "revocation_endpoint": .string(base + "/revoke"),
      "jwks_uri": .string(base + "/keys"),
    ])
  }
}
