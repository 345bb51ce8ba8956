import Encodings
public import HTTPMessages

/// A simulated Apple ID with doors for what happens on devices and in Apple's settings, so that other programs can
/// drive it over HTTP. Everything else goes on to the simulated Apple.
///
/// | request | what happens |
/// |---|---|
/// | `POST /simulator/sign-in` `{account, client_id, nonce?, scopes?, hide_email?}` | the sheet: `{identity_token, authorization_code, subject, user?}` |
/// | `POST /simulator/revoke-consent` `{account, client_id}` | `{notifications: [{payload}]}` |
/// | `POST /simulator/forwarding` `{account, client_id, enabled}` | the same |
/// | `POST /simulator/delete-account` `{account}` | the same |
/// | `GET /simulator/accounts` | `{accounts: [{email, first_name, last_name}]}` |
/// | `POST /simulator/accounts` `{email, first_name, last_name}` | the same: one more, or another name |
///
/// Bodies are JSON and say so by their content type, which no web page of another origin can send here. For this
/// machine alone: whoever reaches it is any user.
public struct SimulatedAppleControl: HTTPHandler {
  private let apple: SimulatedAppleID
  private let changed: @Sendable (SimulatedAppleID) async -> Void
  private let notify: @Sendable (SimulatedNotification) async -> Void

  /// Doors to that Apple.
  ///
  /// - Parameters:
  ///   - changed: called after every request that may have changed what is to be kept.
  ///   - notify: delivers what Apple tells the developer's server, before the door is answered.
  public init(
    _ apple: SimulatedAppleID, changed: @escaping @Sendable (SimulatedAppleID) async -> Void = { _ in },
    notify: @escaping @Sendable (SimulatedNotification) async -> Void = { _ in }
  ) {
    self.apple = apple
    self.changed = changed
    self.notify = notify
  }

  /// Answers as Apple, or as described above. Errors of the doors are 400 `{error}`, 404 and 415.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard request.path.hasPrefix("/simulator/") else {
      // Saved also where the answer is lost: what was done is done.
      let answer: Result<HTTPResponse, any Error>
      do { answer = .success(try await apple.respond(to: request)) } catch { answer = .failure(error) }
      if request.method == .post { await changed(apple) }
      return try answer.get()
    }
    if request.method == .get, request.path == "/simulator/accounts" {
      return SimulatedAppleID.json(await accounts)
    }
    guard request.method == .post else { return HTTPResponse(status: 404) }
    guard request.fields["content-type"]?.lowercased().hasPrefix("application/json") == true else {
      return HTTPResponse(status: 415)
    }
    let body = try await request.body.collect(upTo: 1 << 16)
    guard let node = try? JSONReader.read(body, maximumDepth: 8), node.members != nil else {
      return Self.refused("the body is no JSON object")
    }
    do throws(SimulatorError) {
      guard let value = try await act(String(request.path.dropFirst("/simulator/".count)), node) else {
        return HTTPResponse(status: 404)
      }
      await changed(apple)
      return SimulatedAppleID.json(value)
    } catch {
      return Self.refused("\(error)")
    }
  }

  private func act(_ door: String, _ node: JSONNode) async throws(SimulatorError) -> JSONValue? {
    let account = node["account"]?.string ?? ""
    let client = node["client_id"]?.string ?? ""
    switch door {
    case "sign-in":
      let names = node["scopes"]?.elements?.compactMap(\.string) ?? SimulatedScope.allCases.map(\.rawValue)
      return Self.json(
        try await apple.signIn(
          account: account, client: client, nonce: node["nonce"]?.string,
          scopes: Set(names.compactMap { SimulatedScope(rawValue: $0) }),
          hidesEmail: node["hide_email"]?.bool ?? false))
    case "revoke-consent":
      return await told([try await apple.revokeConsent(account: account, client: client)])
    case "forwarding":
      return await told([
        try await apple.setForwarding(node["enabled"]?.bool ?? true, account: account, client: client)
      ])
    case "accounts":
      guard let email = node["email"]?.string, email.contains("@") else { throw .unknownAccount }
      await apple.add(
        SimulatedAccount(
          email: email, firstName: node["first_name"]?.string ?? "", lastName: node["last_name"]?.string ?? ""
        ))
      return await accounts
    case "delete-account": return await told(try await apple.deleteAccount(account))
    default: return nil
    }
  }

  private var accounts: JSONValue {
    get async { ["accounts": .array(await apple.accounts.map(Self.json))] }
  }

  private static func json(_ account: SimulatedAccount) -> JSONValue {
    [
      "email": .string(account.email), "first_name": .string(account.firstName),
      "last_name": .string(account.lastName),
    ]
  }

  private static func json(_ granted: SimulatedAuthorization) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("identity_token", .string(granted.identityToken)),
      ("authorization_code", .string(granted.authorizationCode)), ("subject", .string(granted.subject)),
    ]
    if let user = granted.user { members.append(("user", user.json)) }
    return .object(members)
  }

  /// Delivers the notifications, and answers them.
  private func told(_ notifications: [SimulatedNotification]) async -> JSONValue {
    for notification in notifications { await notify(notification) }
    return ["notifications": .array(notifications.map { ["payload": .string($0.token)] })]
  }

  private static func refused(_ reason: String) -> HTTPResponse {
    var response = SimulatedAppleID.json(["error": .string(reason)])
    response.status = 400
    return response
  }
}
