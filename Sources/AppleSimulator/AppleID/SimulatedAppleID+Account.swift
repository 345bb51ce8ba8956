import Encodings
public import HTTPMessages

/// A server-to-server notification, signed, to be delivered as often and as late as a test wants.
public struct SimulatedNotification: Sendable, Equatable {
  /// The signed token.
  public var token: String
  /// `jti`.
  public var id: String
  /// The body of Apple's request: `{"payload": "<token>"}`.
  public var body: [UInt8] { JSONValue.object([("payload", .string(token))]).bytes }

  /// Apple's request to the endpoint at that target.
  public func request(target: String = "/apple/notifications") -> HTTPRequest {
    HTTPRequest(
      method: .post, target: target, fields: ["content-type": "application/json"], body: HTTPBody(body))
  }
}

extension SimulatedAppleID {
  /// The user stops using Sign in with Apple for a team's apps, in the settings of the device. Every token of the
  /// consent is dead; the subject stays the same for the next consent.
  public func revokeConsent(
    account email: String, client clientID: String
  ) throws(SimulatorError) -> SimulatedNotification {
    let key = try consent(of: email, at: clientID)
    guard ledger.consents[key]?.isLive == true else { throw .noConsent }
    ledger.revoke(key)
    return try notification("consent-revoked", account: email, client: clientID)
  }

  /// The user deletes the Apple account: it is gone, and every consent with it. One notification for each team that
  /// had a live one, to the team's first client.
  public func deleteAccount(_ email: String) throws(SimulatorError) -> [SimulatedNotification] {
    guard ledger.accounts.contains(where: { $0.email == email }) else { throw .unknownAccount }
    var notifications: [SimulatedNotification] = []
    for key in ledger.consents.keys.filter({ $0.email == email }).sorted(by: { $0.teamID < $1.teamID }) {
      if ledger.consents[key]?.isLive == true, let client = clients.first(where: { $0.teamID == key.teamID })
      {
        let type = behaviour.oldDeletionSpelling ? "account-delete" : "account-deleted"
        notifications.append(try notification(type, account: email, client: client.clientID))
      }
      ledger.revoke(key)
      ledger.consents[key] = nil
    }
    ledger.accounts.removeAll { $0.email == email }
    return notifications
  }

  /// The user turns the forwarding of a relay address on or off; throws `noConsent` where there is no relay address.
  public func setForwarding(
    _ forwards: Bool, account email: String, client clientID: String
  ) throws(SimulatorError) -> SimulatedNotification {
    let key = try consent(of: email, at: clientID)
    guard ledger.consents[key]?.relay != nil else { throw .noConsent }
    ledger.consents[key]?.forwards = forwards
    return try notification(forwards ? "email-enabled" : "email-disabled", account: email, client: clientID)
  }

  /// Any notification about an account that has a subject, without anything happening: for duplicates, late ones
  /// and unknown types.
  ///
  /// - Parameters:
  ///   - time: `event_time`, seconds since 1970; now, when nil.
  ///   - issuedAt: `iat`, seconds since 1970; now, when nil.
  public func notification(
    _ type: String, account email: String, client clientID: String, time: Int64? = nil, issuedAt: Int64? = nil
  ) throws(SimulatorError) -> SimulatedNotification {
    let key = try consent(of: email, at: clientID)
    guard let consent = ledger.consents[key] else { throw .noConsent }
    let at = time ?? now()
    var event: [(String, JSONValue)] = [
      ("type", .string(type)), ("sub", .string(consent.subject)),
      ("event_time", .integer(behaviour.eventTimesInSeconds ? at : at * 1_000)),
    ]
    if type.hasPrefix("email-") {
      event.append(("email", .string(consent.relay ?? email)))
      event.append(("is_private_email", .string(consent.relay == nil ? "false" : "true")))
    }
    let issued = issuedAt ?? now()
    let id = Base64.encodeURL(random(16))
    let token = try sign([
      ("iss", .string(behaviour.issuer)), ("aud", .string(clientID)), ("exp", .integer(issued + 86_400)),
      ("iat", .integer(issued)), ("jti", .string(id)), ("events", events(.object(event))),
    ])
    return SimulatedNotification(token: token, id: id)
  }

  private func events(_ event: JSONValue) -> JSONValue {
    switch behaviour.events {
    case .text: .string(event.text)
    case .object: event
    case .list: [event]
    }
  }

  private func consent(
    of email: String, at clientID: String
  ) throws(SimulatorError) -> AppleIDLedger.ConsentKey {
    guard let client = clients.first(where: { $0.clientID == clientID }) else { throw .unknownClient }
    let key = AppleIDLedger.ConsentKey(teamID: client.teamID, email: email)
    guard ledger.consents[key] != nil else { throw .noConsent }
    return key
  }
}
