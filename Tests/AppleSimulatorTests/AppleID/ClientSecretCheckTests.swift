import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: client secrets")
struct ClientSecretCheckTests {
  private func claims(_ place: Cupertino, _ changes: [(String, JSONValue?)]) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("iss", .string(Cupertino.team)), ("iat", .integer(place.now)), ("exp", .integer(place.now + 300)),
      ("aud", "https://appleid.apple.com"), ("sub", .string(Cupertino.app)),
    ]
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return .object(members)
  }

  /// Apple's error to a revocation with that secret; nil when it is taken.
  private func error(_ place: Cupertino, _ secret: String?, type: String? = nil) async throws -> String? {
    try await place.post(
      "/auth/revoke",
      [("client_id", Cupertino.app), ("token", "r0")] + (secret.map { [("client_secret", $0)] } ?? []),
      type: type ?? "application/x-www-form-urlencoded")?["error"]?.string
  }

  @Test("each claim is judged, and the reason is told to whoever runs it")
  func claims() async throws {
    let place = try await Cupertino()
    let key = try ApplePrivateKey.read(place.teamKey.p8)
    func sign(_ changes: [(String, JSONValue?)]) throws -> String {
      try ES256.sign(claims(place, changes), kid: place.teamKey.keyID, type: nil, key: key)
    }
    #expect(try await error(place, sign([])) == nil)
    #expect(try await error(place, sign([("exp", .integer(place.now + 15_777_000))])) == nil)
    let bad: [((String, JSONValue?), String)] = [
      (("iss", "OTHERTEAM1"), "iss"), (("iss", nil), "iss"), (("sub", .string(Cupertino.site)), "sub"),
      (("sub", nil), "sub"), (("aud", "https://account.apple.com"), "aud"), (("aud", nil), "aud"),
      (("exp", .integer(place.now + 15_777_001)), "six months"), (("exp", .integer(place.now)), "expired"),
      (("exp", nil), "exp"), (("exp", "soon"), "exp"), (("iat", nil), "iat"),
      (("iat", .integer(place.now + 301)), "iat"), (("iat", .integer(place.now - 15_777_000)), "six months"),
      (("exp", .number("9223372036854775807")), "exp"), (("iat", .number("-9223372036854775808")), "iat"),
    ]
    for (change, reason) in bad {
      #expect(try await error(place, sign([change])) == "invalid_client", "\(change)")
      let told = await place.apple.reasons.last ?? ""
      #expect(told.contains(reason), "\(told)")
    }
  }

  @Test("ES256 in raw octets by a key of the team, and nothing else")
  func signatures() async throws {
    let place = try await Cupertino()
    let key = try ApplePrivateKey.read(place.teamKey.p8)
    let foreign = try P256.PrivateKey()
    let other = try await place.apple.makeKey(team: "OTHERTEAM1")
    func sign(_ header: JSONValue, _ sign: ([UInt8]) throws -> [UInt8]) throws -> String {
      try JWS.compact(header: header, payload: claims(place, []).bytes, sign: sign)
    }
    let kid = JSONValue.string(place.teamKey.keyID)
    let bad: [(String?, String)] = [
      (nil, "missing"), ("", "no token"), ("a.b.c", "no token"),
      (try sign(["alg": "ES256", "kid": kid]) { try key.signature(for: $0) }, "DER"),
      (try sign(["alg": "none", "kid": kid]) { _ in [] }, "ES256"),
      (try sign(["alg": "HS256", "kid": kid]) { HMACSHA256.code(for: $0, key: key.point) }, "ES256"),
      (try sign(["alg": "ES256"]) { try ES256.signature(for: $0, key: key) }, "kid"),
      (try sign(["alg": "ES256", "kid": "NOBODY1234"]) { try ES256.signature(for: $0, key: key) }, "kid"),
      (
        try sign(["alg": "ES256", "kid": kid]) { try ES256.signature(for: $0, key: foreign) }, "does not hold"
      ),
      (
        try ES256.sign(
          claims(place, [("iss", "OTHERTEAM1")]), kid: other.keyID, type: nil,
          key: ApplePrivateKey.read(other.p8)), "another team"
      ),
    ]
    for (secret, reason) in bad {
      #expect(try await error(place, secret) == "invalid_client", "\(reason)")
      let told = await place.apple.reasons.last ?? ""
      #expect(told.contains(reason), "\(told)")
    }
    let good = try sign(["alg": "ES256", "kid": kid]) { try ES256.signature(for: $0, key: key) }
    #expect(try await error(place, good) == nil)
    #expect(try await error(place, good, type: "application/json") == "invalid_client")
    await place.apple.revokeKey(place.teamKey.keyID)
    #expect(try await error(place, good) == "invalid_client")
  }

  @Test("the form itself: names, doubles, grants")
  func forms() async throws {
    let place = try await Cupertino()
    let secret = try place.secretText(Cupertino.app)
    let both = [("client_id", Cupertino.app), ("client_secret", secret)]
    func error(_ target: String, _ form: [(String, String)]) async throws -> String? {
      try await place.post(target, form)?["error"]?.string
    }
    #expect(try await error("/auth/token", both) == "invalid_request")
    #expect(try await error("/auth/token", both + [("grant_type", "password")]) == "unsupported_grant_type")
    #expect(try await error("/auth/token", both + [("grant_type", "refresh_token")]) == "invalid_request")
    #expect(
      try await error("/auth/token", both + [("grant_type", "authorization_code")]) == "invalid_request")
    #expect(try await error("/auth/revoke", both) == "invalid_request")
    #expect(try await error("/auth/revoke", both + [("token", "a"), ("token", "b")]) == "invalid_request")
    #expect(try await error("/auth/revoke", [("client_secret", secret)]) == "invalid_request")
    #expect(
      try await error("/auth/revoke", [("client_id", "com.nobody"), ("client_secret", secret)])
        == "invalid_client")
    let unreadable = HTTPRequest(
      method: .post, target: "/auth/token", fields: ["content-type": "application/x-www-form-urlencoded"],
      body: HTTPBody("a=%zz"))
    #expect(try await place.apple.respond(to: unreadable).status == 400)
    #expect(try await place.apple.respond(to: HTTPRequest(method: .get, target: "/auth/token")).status == 404)
  }
}
