import Encodings
import HTTPMessages

extension SimulatedAppleID {
  /// How long after its acceptance users can be brought over, seconds.
  public static let transferWindow: Int64 = 60 * 86_400

  /// A client changes its team, as when the recipient accepts the transfer of an app. Users get a subject under the
  /// new team, by `/auth/usermigrationinfo` or when they sign in, and their identity tokens carry `transfer_sub` for
  /// 60 days.
  public func transfer(client clientID: String, to teamID: String) throws(SimulatorError) {
    guard let index = clients.firstIndex(where: { $0.clientID == clientID }), clients[index].teamID != teamID
    else { throw .unknownClient }
    ledger.transfers.append(
      .init(client: clientID, from: clients[index].teamID, to: teamID, acceptedAt: now()))
    clients[index].teamID = teamID
  }

  /// `POST /auth/usermigrationinfo`.
  func migrate(_ form: FormParameters, _ fields: HTTPFields) throws(AppleIDRefusal) -> HTTPResponse {
    let (client, teamID) = try authenticateForTransfer(form)
    let bearer = fields["authorization"] ?? ""
    guard let until = ledger.migrationTokens["\(teamID) \(bearer.dropFirst("Bearer ".count))"], until > now(),
      bearer.hasPrefix("Bearer ")
    else { throw .client("the access token is no live one of this team's for user.migration") }
    if let identifier = form["transfer_sub"] { return try arrive(identifier, client, teamID) }
    guard let subject = form["sub"], let target = form["target"] else {
      throw .request("neither sub with target nor transfer_sub")
    }
    guard
      let key = ledger.consents.first(where: { $0.key.teamID == teamID && $0.value.subject == subject })?.key
    else { throw .request("no user of this team has that sub") }
    if let transfer = ledger.transfers.last(where: { $0.from == teamID && $0.to == target }),
      now() - transfer.acceptedAt >= Self.transferWindow
    {
      throw .request("the transfer was accepted more than 60 days ago")
    }
    return Self.json(["transfer_sub": .string(identifier(key, to: target))])
  }

  private func arrive(
    _ identifier: String, _ client: SimulatedAppleClient, _ teamID: String
  ) throws(AppleIDRefusal) -> HTTPResponse {
    guard let (key, target) = ledger.transferIdentifiers[identifier], target == teamID else {
      throw .request("transfer_sub was not made for this team")
    }
    guard let transfer = ledger.transfers.last(where: { $0.from == key.teamID && $0.to == teamID }),
      now() - transfer.acceptedAt < Self.transferWindow
    else { throw .request("no transfer was accepted within 60 days") }
    guard let consent = bringOver(key, to: teamID) else { throw .request("the user is gone") }
    var members: [(String, JSONValue)] = [("sub", .string(consent.subject))]
    if consent.sharesEmail {
      members.append(("email", .string(consent.relay ?? key.email)))
      members.append(("is_private_email", .bool(consent.relay != nil)))
    }
    return Self.json(.object(members))
  }

  /// The user's consent under the new team; made, with another relay address, where there is none yet.
  private func bringOver(
    _ key: AppleIDLedger.ConsentKey, to teamID: String
  ) -> AppleIDLedger.Consent? {
    let target = AppleIDLedger.ConsentKey(teamID: teamID, email: key.email)
    if let there = ledger.consents[target] { return there }
    guard var consent = ledger.consents[key] else { return nil }
    consent.subject = AppleIDSpelling.subject(random(24))
    consent.relay = consent.relay.map { _ in AppleIDSpelling.relay(random(10)) }
    ledger.consents[target] = consent
    return consent
  }

  /// The consent that a user brought along when the client changed its team, and `transfer_sub` for its tokens.
  func broughtOver(_ key: AppleIDLedger.ConsentKey) -> (consent: AppleIDLedger.Consent, identifier: String)? {
    guard
      let transfer = ledger.transfers.last(where: {
        $0.to == key.teamID && now() - $0.acceptedAt < Self.transferWindow
          && ledger.consents[.init(teamID: $0.from, email: key.email)] != nil
      })
    else { return nil }
    let old = AppleIDLedger.ConsentKey(teamID: transfer.from, email: key.email)
    guard let consent = bringOver(old, to: key.teamID) else { return nil }
    return (consent, identifier(old, to: key.teamID))
  }

  /// The same for the same user and team.
  private func identifier(_ key: AppleIDLedger.ConsentKey, to teamID: String) -> String {
    if let known = ledger.transferIdentifiers.first(where: { $0.value.0 == key && $0.value.1 == teamID }) {
      return known.key
    }
    let made = AppleIDSpelling.subject(random(24))
    ledger.transferIdentifiers[made] = (key, teamID)
    return made
  }

  /// `grant_type=client_credentials` with the scope `user.migration`.
  func migrationToken(_ form: FormParameters) throws(AppleIDRefusal) -> HTTPResponse {
    guard form["scope"] == "user.migration" else {
      throw AppleIDRefusal("invalid_scope", reason: "the scope of client_credentials is user.migration")
    }
    let (_, teamID) = try authenticateForTransfer(form)
    let token = AppleIDSpelling.credential("a", random(36))
    ledger.migrationTokens["\(teamID) \(token)"] = now() + Self.accessTokenLife
    return Self.json([
      "access_token": .string(token), "token_type": "Bearer", "expires_in": .integer(Self.accessTokenLife),
    ])
  }
}
