import Cryptography
import Encodings
import HTTPMessages

extension SimulatedAppleID {
  /// A new key of a team for client secrets, as a developer downloads it.
  public func makeKey(team teamID: String) throws(SimulatorError) -> SimulatedTeamKey {
    guard let key = try? P256.PrivateKey(), let pem = try? key.pem else { throw .cryptography }
    let keyID = SimulatedTeamKey.keyID(of: key)
    ledger.teamKeys.append(.init(teamID: teamID, keyID: keyID, key: key))
    return SimulatedTeamKey(teamID: teamID, keyID: keyID, p8: pem)
  }

  /// The keys of a team that hold, the newest last.
  public func teamKeys(of teamID: String) throws(SimulatorError) -> [SimulatedTeamKey] {
    var keys: [SimulatedTeamKey] = []
    for key in ledger.teamKeys where key.teamID == teamID {
      guard let pem = try? key.key.pem else { throw .cryptography }
      keys.append(SimulatedTeamKey(teamID: teamID, keyID: key.keyID, p8: pem))
    }
    return keys
  }

  /// Ends a team's key, as a developer does in the account.
  public func revokeKey(_ keyID: String) { ledger.teamKeys.removeAll { $0.keyID == keyID } }

  /// The client that the form proves to come from. Everything that is wrong is `invalid_client`, as at Apple; which
  /// it was stands in ``reasons``.
  func authenticate(_ form: FormParameters) throws(AppleIDRefusal) -> SimulatedAppleClient {
    try authenticate(form, alsoFormerTeams: false).client
  }

  /// The same where a team that gave the client away may still act for it, with the team whose key it is.
  func authenticateForTransfer(
    _ form: FormParameters
  ) throws(AppleIDRefusal) -> (client: SimulatedAppleClient, teamID: String) {
    try authenticate(form, alsoFormerTeams: true)
  }

  private func authenticate(
    _ form: FormParameters, alsoFormerTeams: Bool
  ) throws(AppleIDRefusal) -> (client: SimulatedAppleClient, teamID: String) {
    for name in ["client_id", "client_secret", "grant_type", "code", "token", "refresh_token"] {
      if form.values(name).count > 1 { throw .request("\(name) stands twice") }
    }
    guard let clientID = form["client_id"] else { throw .request("client_id is missing") }
    guard let client = clients.first(where: { $0.clientID == clientID }) else {
      throw .client("no client \(clientID) is registered")
    }
    guard let text = form["client_secret"] else { throw .client("client_secret is missing") }
    guard let secret = try? JWS.Compact(parsing: text), let claims = try? secret.claims else {
      throw .client("client_secret is no token")
    }
    guard secret.header.algorithm == "ES256" else { throw .client("client_secret is not signed with ES256") }
    guard secret.signature.count == 64 else {
      throw .client(
        "the signature of client_secret has \(secret.signature.count) octets; r and s have 64, DER is not taken"
      )
    }
    guard let kid = secret.header.kid, let key = ledger.teamKeys.first(where: { $0.keyID == kid }) else {
      throw .client("client_secret names no key of a team (kid)")
    }
    guard let publicKey = try? key.key.publicKey, (try? ES256.verify(secret, key: publicKey)) != nil else {
      throw .client("the signature of client_secret does not hold")
    }
    let isFormer =
      alsoFormerTeams && ledger.transfers.contains { $0.client == clientID && $0.from == key.teamID }
    guard client.teamID == key.teamID || isFormer else { throw .client("the client is of another team") }
    try judge(claims, client, key)
    return (client, key.teamID)
  }

  private func judge(
    _ claims: JSONNode, _ client: SimulatedAppleClient, _ key: AppleIDLedger.TeamKey
  ) throws(AppleIDRefusal) {
    let time = now()
    guard claims["iss"]?.string == key.teamID else { throw .client("iss is not the team of the key") }
    guard claims["sub"]?.string == client.clientID else { throw .client("sub is not client_id") }
    guard claims["aud"]?.string == "https://appleid.apple.com" else {
      throw .client("aud is not https://appleid.apple.com")
    }
    guard let issuedAt = claims["iat"]?.integer, (0...1 << 53).contains(issuedAt), issuedAt <= time + 300
    else {
      throw .client("iat is missing or in the future")
    }
    guard let expiry = claims["exp"]?.integer, (0...1 << 53).contains(expiry) else {
      throw .client("exp is missing")
    }
    guard expiry > time else { throw .client("client_secret has expired") }
    guard expiry - issuedAt <= Self.longestSecretLife, expiry - time <= Self.longestSecretLife else {
      throw .client("exp is more than six months away")
    }
  }
}
