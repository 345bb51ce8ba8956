import Cryptography

extension SimulatedAppleID {
  /// What the system's sheet does on a device when the user consents.
  ///
  /// - Parameters:
  ///   - email: whose account; it must be there.
  ///   - clientID: the app's bundle id.
  ///   - nonce: `request.nonce`: goes into the token as it is, so it should be a hash.
  ///   - scopes: `request.requestedScopes`.
  ///   - hidesEmail: "Hide My Email", where the e-mail is asked for at the first consent.
  public func signIn(
    account email: String, client clientID: String, nonce: String?,
    scopes: Set<SimulatedScope> = [.name, .email], hidesEmail: Bool = false
  ) throws(SimulatorError) -> SimulatedAuthorization {
    guard let client = clients.first(where: { $0.clientID == clientID }), client.kind == .native else {
      throw .unknownClient
    }
    return try authorize(
      email, client, redirectURI: nil, nonce: nonce, scopes: scopes, hidesEmail: hidesEmail)
  }

  /// Adds an account, or replaces the one of that address.
  public func add(_ account: SimulatedAccount) {
    ledger.accounts.removeAll { $0.email == account.email }
    ledger.accounts.append(account)
  }

  /// The accounts that exist.
  public var accounts: [SimulatedAccount] { ledger.accounts }

  /// The subject of an account for a team; nil before the first consent.
  public func subject(of email: String, team teamID: String) -> String? {
    ledger.consents[.init(teamID: teamID, email: email)]?.subject
  }

  /// What `getCredentialState(forUserID:)` says on a device: `authorized`, `revoked` or `notFound`.
  public func credentialState(of subject: String) -> String {
    guard let consent = ledger.consents.values.first(where: { $0.subject == subject }) else {
      return "notFound"
    }
    return consent.isLive ? "authorized" : "revoked"
  }

  /// Records the consent and gives out a token with a code.
  func authorize(
    _ email: String, _ client: SimulatedAppleClient, redirectURI: String?, nonce: String?,
    scopes: Set<SimulatedScope>, hidesEmail: Bool
  ) throws(SimulatorError) -> SimulatedAuthorization {
    guard let account = ledger.accounts.first(where: { $0.email == email }) else { throw .unknownAccount }
    let key = AppleIDLedger.ConsentKey(teamID: client.teamID, email: email)
    let before = ledger.consents[key] ?? broughtOver(key)?.consent
    var consent = before ?? AppleIDLedger.Consent(subject: AppleIDSpelling.subject(random(24)))
    let isFirst = before == nil
    let asksAgain = isFirst || !consent.isLive
    if asksAgain {
      consent.isLive = true
      consent.sharesEmail = scopes.contains(.email)
      consent.relay = hidesEmail && scopes.contains(.email) ? AppleIDSpelling.relay(random(10)) : nil
      consent.forwards = true
    }
    ledger.consents[key] = consent
    let code = AppleIDSpelling.credential("c", random(36))
    ledger.codes[code] = AppleIDLedger.Code(
      client: client.clientID, consent: key, redirectURI: redirectURI, nonce: nonce, issuedAt: now())
    let token = try identityToken(
      client: client.clientID, consent: key, hash: ("c_hash", code), nonce: nonce, authTime: now(),
      realUserStatus: isFirst && client.kind == .native ? account.realUserStatus : nil)
    var user: SimulatedAuthorization.User?
    if asksAgain, !scopes.isEmpty {
      user = .init(
        firstName: scopes.contains(.name) ? account.firstName : nil,
        lastName: scopes.contains(.name) ? account.lastName : nil,
        email: consent.sharesEmail ? consent.relay ?? email : nil)
    }
    return SimulatedAuthorization(
      identityToken: token, authorizationCode: code, subject: consent.subject, user: user)
  }
}
