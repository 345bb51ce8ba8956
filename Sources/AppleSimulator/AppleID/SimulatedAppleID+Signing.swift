import Cryptography
import Encodings

extension SimulatedAppleID {
  /// The names of the published keys.
  public var keyIDs: [String] { keys.map(\.kid) }

  /// Publishes a fresh key that signs from now on, and withdraws all but `keeping` older ones.
  public func rotateKeys(to key: SimulatedAppleKey? = nil, keeping: Int = 1) throws(SimulatorError) {
    let fresh = if let key { key } else { try SimulatedAppleKey() }
    keys = keys.suffix(max(0, keeping)) + [fresh]
    hiddenKey = nil
    signatures = keys.count - 1
  }

  /// Signs with a key that is not published until ``publishHiddenKey()``.
  public func signWithHiddenKey(_ key: SimulatedAppleKey? = nil) throws(SimulatorError) {
    hiddenKey = if let key { key } else { try SimulatedAppleKey() }
  }

  /// Publishes the key that signs already.
  public func publishHiddenKey() {
    guard let key = hiddenKey else { return }
    keys.append(key)
    hiddenKey = nil
  }

  /// Signs claims as Apple does: `kid` and `alg` in the header, and with the published keys in turns.
  func sign(_ claims: [(String, JSONValue)]) throws(SimulatorError) -> String {
    let key = hiddenKey ?? keys[signatures % keys.count]
    signatures += 1
    do { return try RS256.sign(.object(claims), kid: key.kid, key: key.key) } catch { throw .cryptography }
  }

  /// An identity token.
  ///
  /// - Parameters:
  ///   - hash: `c_hash` or `at_hash` with the credential that it names.
  ///   - authTime: seconds since 1970.
  func identityToken(
    client: String, consent: AppleIDLedger.ConsentKey, hash: (name: String, credential: String),
    nonce: String?, authTime: Int64, realUserStatus: Int?
  ) throws(SimulatorError) -> String {
    guard let agreed = ledger.consents[consent] else { throw .noConsent }
    let time = now()
    var claims: [(String, JSONValue)] = [
      ("iss", .string(behaviour.issuer)), ("aud", .string(client)),
      ("exp", .integer(time + behaviour.tokenLife)), ("iat", .integer(time)),
      ("sub", .string(agreed.subject)),
    ]
    if let nonce { claims.append(("nonce", .string(nonce))) }
    claims.append((hash.name, .string(Base64.encodeURL(SHA256.hash(hash.credential).prefix(16)))))
    if agreed.sharesEmail {
      claims.append(("email", .string(agreed.relay ?? consent.email)))
      claims.append(("email_verified", truth(true)))
      if agreed.relay != nil { claims.append(("is_private_email", truth(true))) }
    }
    claims.append(("auth_time", .integer(authTime)))
    claims.append(("nonce_supported", true))
    if let brought = broughtOver(consent) { claims.append(("transfer_sub", .string(brought.identifier))) }
    if let realUserStatus { claims.append(("real_user_status", .integer(realUserStatus))) }
    return try sign(claims)
  }

  func truth(_ value: Bool) -> JSONValue {
    behaviour.truthsAsText ? .string(value ? "true" : "false") : .bool(value)
  }
}
