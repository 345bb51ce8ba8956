package import Encodings

/// What an access token says of a user's session: Supabase's claims, and `auth_time`, `acr` and `attested` beside
/// them (RULES §3.3, §1.7).
package struct AccessTokenClaims: Sendable, Equatable {
  /// Octets that the whole token may have (RULES §3.9).
  package static let limit = 4_096
  /// Octets of the longest signing input's other parts: the header with its `kid`, the signature and two dots.
  private static let frame = 216

  package var issuer: String
  package var user: User
  package var session: Session
  /// Seconds since 1970.
  package var issuedAt: Int64
  package var expiresAt: Int64

  /// - Parameters:
  ///   - lifetime: seconds.
  ///   - now: milliseconds since 1970.
  package init(issuer: String, _ open: OpenSession, lifetime: Int64, now: Int64) {
    self.issuer = issuer
    user = open.user
    session = open.session
    issuedAt = now / 1_000
    expiresAt = issuedAt.saturatingAdd(lifetime)
  }

  /// Authentication context class (OIDC Core §2): `0` for a session that nobody signed in to, `1` for one that an
  /// identity provider vouched for.
  package var contextClass: String { session.methods.contains { $0.method == "oauth" } ? "1" : "0" }

  /// The claims.
  package var json: JSONValue {
    [
      "iss": .string(issuer), "sub": .string(user.id.description), "aud": "authenticated",
      "exp": .integer(expiresAt), "iat": .integer(issuedAt), "email": .string(user.email ?? ""), "phone": "",
      "app_metadata": user.appMetadata, "user_metadata": user.userMetadata, "role": "authenticated",
      "aal": "aal1",
      "amr": .array(
        session.methods.map {
          ["method": .string($0.method), "timestamp": .integer($0.timestamp)]
        }),
      "session_id": .string(session.id.description), "is_anonymous": .bool(user.isAnonymous),
      "auth_time": .integer(session.authTime), "acr": .string(contextClass),
      "attested": .bool(session.keyID != nil),
    ]
  }

  /// Whether a token of these claims is no longer than `limit`.
  package var fits: Bool { Self.fits(json) }

  package static func fits(_ claims: JSONValue) -> Bool {
    (claims.bytes.count * 4 + 2) / 3 + frame <= limit
  }

  /// What no hook changes (RULES §3.9).
  package static let protected: Set<String> = [
    "iss", "sub", "aud", "exp", "iat", "role", "aal", "amr", "session_id", "is_anonymous", "auth_time", "acr",
    "attested",
  ]

  /// The claims that a hook gave in the place of our own, which keep what is protected.
  package static func merged(_ own: JSONValue, _ given: JSONValue) -> JSONValue {
    guard case .object(let own) = own, case .object(let given) = given else { return own }
    var members: [(String, JSONValue)] = []
    for (name, value) in own {
      if protected.contains(name) {
        members.append((name, value))
      } else if let other = given.first(where: { $0.0 == name }) {
        members.append(other)
      }
    }
    let known = Set(own.map(\.0))
    return .object(members + given.filter { !known.contains($0.0) && !protected.contains($0.0) })
  }
}

extension User {
  /// Whether every session of the user has a token of the size that is allowed (RULES §3.9), whatever the issuer,
  /// and also when an identity with an address is linked.
  package var fitsToken: Bool {
    var user = self
    user.isAnonymous = false
    user.email = String(repeating: "e", count: max(email?.utf8.count ?? 0, 254))
    user.appMetadata = Metadata.merge(["provider": "apple", "providers": ["apple"]], into: appMetadata)
    let methods = [AuthenticationMethod](
      repeating: AuthenticationMethod(method: "anonymous", timestamp: 9_999_999_999),
      count: Session.methodLimit)
    let session = Session(
      id: id, userID: id, createdAt: 0, refreshedAt: 0, authTime: 9_999_999_999, methods: methods)
    let issuer = String(repeating: "i", count: 100)
    let open = OpenSession(user: user, session: session)
    return AccessTokenClaims(issuer: issuer, open, lifetime: 3_600, now: 9_999_999_999_000).fits
  }
}
