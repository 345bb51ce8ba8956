import Cryptography
import Encodings

extension SimulatedAppleID {
  private static let kind = "bramley-simulated-apple-id-1"

  /// Keys, accounts, consents and tokens, to be kept in a file that only its owner can read. Codes are not kept: they
  /// hold for five minutes; nor are transfers to other teams.
  public var state: [UInt8] {
    get throws(SimulatorError) {
      do {
        let value: JSONValue = [
          "kind": .string(Self.kind), "keys": .array(try keys.map { .string(try $0.key.pem) }),
          "team_keys": .array(
            try ledger.teamKeys.map {
              ["team": .string($0.teamID), "kid": .string($0.keyID), "p8": .string(try $0.key.pem)]
            }),
          "accounts": .array(ledger.accounts.map(Self.json)),
          "consents": .array(
            ledger.consents.sorted { ($0.key.email, $0.key.teamID) < ($1.key.email, $1.key.teamID) }
              .map { Self.json($0.key, $0.value) }),
          "tokens": .array(
            ledger.tokens.sorted { $0.key < $1.key }.filter(\.value.isRefresh)
              .map { Self.json($0.key, $0.value) }),
        ]
        return Array((value.prettyText + "\n").utf8)
      } catch {
        throw .cryptography
      }
    }
  }

  /// Takes over what ``state`` gave. The clients are those of this simulated Apple; consents of other teams are
  /// kept.
  public func restore(_ state: [UInt8]) throws(SimulatorError) {
    guard let node = try? JSONReader.read(state), node["kind"]?.string == Self.kind,
      let keys = Self.list(node["keys"], { $0.string.flatMap { try? RSA.PrivateKey(pem: $0) } }),
      !keys.isEmpty,
      let teamKeys = Self.list(node["team_keys"], Self.teamKey),
      let accounts = Self.list(node["accounts"], Self.account),
      let consents = Self.list(node["consents"], Self.consent),
      let tokens = Self.list(node["tokens"], Self.token)
    else { throw .malformedState }
    self.keys = keys.map { SimulatedAppleKey(key: $0) }
    hiddenKey = nil
    ledger = AppleIDLedger(
      accounts: accounts, consents: Dictionary(consents) { _, last in last },
      tokens: Dictionary(tokens) { _, last in last }, teamKeys: teamKeys)
  }

  private static func list<Value>(_ node: JSONNode?, _ read: (JSONNode) -> Value?) -> [Value]? {
    guard let elements = node?.elements else { return nil }
    let values = elements.compactMap(read)
    return values.count == elements.count ? values : nil
  }

  private static func teamKey(_ node: JSONNode) -> AppleIDLedger.TeamKey? {
    guard let team = node["team"]?.string, let kid = node["kid"]?.string,
      let key = node["p8"]?.string.flatMap({ try? P256.PrivateKey(pem: $0) })
    else { return nil }
    return .init(teamID: team, keyID: kid, key: key)
  }

  private static func json(_ account: SimulatedAccount) -> JSONValue {
    [
      "email": .string(account.email), "first_name": .string(account.firstName),
      "last_name": .string(account.lastName),
      "real_user_status": account.realUserStatus.map { .integer($0) } ?? .null,
    ]
  }

  private static func account(_ node: JSONNode) -> SimulatedAccount? {
    guard let email = node["email"]?.string, let first = node["first_name"]?.string,
      let last = node["last_name"]?.string
    else { return nil }
    return SimulatedAccount(
      email: email, firstName: first, lastName: last,
      realUserStatus: node["real_user_status"]?.integer.flatMap(Int.init(exactly:)))
  }

  private static func json(_ key: AppleIDLedger.ConsentKey, _ consent: AppleIDLedger.Consent) -> JSONValue {
    [
      "team": .string(key.teamID), "account": .string(key.email), "subject": .string(consent.subject),
      "live": .bool(consent.isLive), "shares_email": .bool(consent.sharesEmail),
      "relay": consent.relay.map { .string($0) } ?? .null, "forwards": .bool(consent.forwards),
    ]
  }

  private static func consent(_ node: JSONNode) -> (AppleIDLedger.ConsentKey, AppleIDLedger.Consent)? {
    guard let key = consentKey(node), let subject = node["subject"]?.string,
      let live = node["live"]?.bool, let shares = node["shares_email"]?.bool,
      let forwards = node["forwards"]?.bool
    else { return nil }
    return (
      key,
      .init(
        subject: subject, isLive: live, sharesEmail: shares, relay: node["relay"]?.string, forwards: forwards)
    )
  }

  private static func consentKey(_ node: JSONNode) -> AppleIDLedger.ConsentKey? {
    guard let team = node["team"]?.string, let email = node["account"]?.string else { return nil }
    return .init(teamID: team, email: email)
  }

  private static func json(_ text: String, _ token: AppleIDLedger.Token) -> JSONValue {
    [
      "token": .string(text), "client": .string(token.client), "team": .string(token.consent.teamID),
      "account": .string(token.consent.email), "issued_at": .integer(token.issuedAt),
      "auth_time": .integer(token.authTime),
      "validated_at": token.validatedAt.map { .integer($0) } ?? .null,
    ]
  }

  private static func token(_ node: JSONNode) -> (String, AppleIDLedger.Token)? {
    guard let text = node["token"]?.string, let client = node["client"]?.string, let key = consentKey(node),
      let issuedAt = node["issued_at"]?.integer, let authTime = node["auth_time"]?.integer
    else { return nil }
    return (
      text,
      .init(
        client: client, consent: key, isRefresh: true, issuedAt: issuedAt, authTime: authTime,
        validatedAt: node["validated_at"]?.integer)
    )
  }
}
