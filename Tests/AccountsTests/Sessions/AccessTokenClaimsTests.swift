import Accounts
import Encodings
import Testing

@Suite("Access token claims")
struct AccessTokenClaimsTests {
  @Test("the claims are Supabase's, in its types, with auth_time, acr and attested beside them")
  func claims() throws {
    var user = Example.user(isAnonymous: false)
    user.email = "a@example.com"
    user.appMetadata = ["provider": "apple"]
    user.userMetadata = ["name": "Ä"]
    var session = Example.session()
    session.authenticate("oauth", at: Example.now)
    session.authenticate("oauth", at: Example.now + 1_000)
    session.keyID = Example.key
    let claims = AccessTokenClaims(
      issuer: "https://b.example/auth/v1", OpenSession(user: user, session: session), lifetime: 3_600,
      now: Example.now + 999)
    let seconds = Example.now / 1_000
    #expect(
      claims.json == [
        "iss": "https://b.example/auth/v1", "sub": .string(user.id.description), "aud": "authenticated",
        "exp": .integer(seconds + 3_600), "iat": .integer(seconds), "email": "a@example.com", "phone": "",
        "app_metadata": ["provider": "apple"], "user_metadata": ["name": "Ä"], "role": "authenticated",
        "aal": "aal1",
        "amr": [
          ["method": "oauth", "timestamp": .integer(seconds + 1)],
          ["method": "anonymous", "timestamp": .integer(seconds - 1_000)],
        ],
        "session_id": .string(session.id.description), "is_anonymous": false,
        "auth_time": .integer(seconds - 1_000), "acr": "1", "attested": true,
      ])
    #expect(claims.fits)
    let plain = AccessTokenClaims(
      issuer: "", OpenSession(user: Example.user(), session: Example.session()), lifetime: .max,
      now: Example.now)
    #expect(plain.contextClass == "0")
    #expect(plain.expiresAt == .max)
    #expect(Metadata.member("email", of: plain.json) == "")
    #expect(Metadata.member("attested", of: plain.json) == false)
  }

  @Test("RULES §3.9: a token of more than 4 KiB does not fit, one with full user_metadata does")
  func size() {
    var user = Example.user()
    user.userMetadata = ["a": .string(String(repeating: "x", count: Metadata.limit - 8))]
    #expect(user.userMetadata.bytes.count == Metadata.limit)
    #expect(Metadata.fits(user.userMetadata))
    #expect(user.fitsToken)
    user.appMetadata = ["a": .string(String(repeating: "x", count: 1_000))]
    #expect(!user.fitsToken)
    user.userMetadata = [:]
    #expect(user.fitsToken)
  }
}
