import Accounts
import Cryptography
import SignInWithApple
import Testing

@testable import Server

private func read(_ auth: String, _ variables: [String: String] = [:], environment: String = "production")
  throws(ConfigurationMistakes) -> Configuration
{
  let text = """
    {
      "environment": "\(environment)",
      "attest": {
        "audiences": ["https://api.example.com"], "apps": [{ "app_id": "ABCDE12345.com.example.app" }]
      },
      "auth": \(auth)
    }
    """
  return try Configuration.read(
    ConfigurationSources(
      text: Array(text.utf8), variables: variables,
      readFile: { $0 == "/key.p8" ? Array(appleKey.utf8) : $0 == "/other" ? [0x78] : nil }))
}

private func mistakes(_ auth: String, _ variables: [String: String] = [:]) -> [String] {
  do {
    _ = try read(auth, variables)
    return []
  } catch {
    return error.mistakes.map(\.path)
  }
}

private let appleKey = (try? P256.PrivateKey().pem) ?? ""
private let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

@Suite struct AuthSectionTests {
  @Test("without the section there are no accounts, with an empty one the defaults hold")
  func defaults() throws {
    #expect(Configuration().auth == nil)
    let configuration = try read("{}")
    #expect(configuration.auth == Configuration.Auth())
    #expect(configuration.accountsIssuer == "https://api.example.com/auth/v1")
    #expect(configuration.auth?.bindRefresh == .prefer)
  }

  @Test("a whole section is read")
  func whole() throws {
    let configuration = try read(
      """
      {
        "site_url": "https://example.com", "redirects": ["com.example.app://*", "https://example.com/in"],
        "anonymous": false, "anonymous_idle_days": 180, "sign_ups": false, "manual_linking": false, "access_token_lifetime": 300,
        "issuer": "https://id.example.com", "session_lifetime": 86400, "session_inactivity": 3600,
        "bind_refresh": "require", "email_matching": true, "step_up_maximum_age": 60,
        "deletion": { "revocation": "eventual" },
        "sealing": {
          "current": { "name": "b", "key": { "env": "SEAL" } },
          "previous": { "name": "a", "key": { "env": "SEAL" } }
        },
        "apple": {
          "team_id": "ABCDE12345", "key_id": "KEY1234567", "private_key": { "file": "/key.p8" },
          "clients": [{ "id": "com.example.app" }, { "id": "com.example.web", "kind": "web" }],
          "issuers": ["https://appleid.apple.com"], "require_challenge": true, "on_account_deleted": "record"
        },
        "limits": { "anonymous_per_hour": 5, "refreshes_per_minute": 7 }
      }
      """, ["SEAL": key])
    let auth = try #require(configuration.auth)
    #expect(configuration.accountsIssuer == "https://id.example.com")
    #expect(configuration.accountsURL == "https://api.example.com/auth/v1")
    #expect(!auth.anonymous && !auth.signUps && !auth.manualLinking && auth.emailMatching)
    #expect(auth.anonymousIdleDays == 180)
    #expect(auth.sealingKeys.map(\.name) == ["b", "a"])
    #expect(auth.apple?.privateKey?.value.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
    #expect(auth.apple?.webClient?.clientID == "com.example.web")
    #expect(
      auth.apple?.clients.first
        == AppleClient(clientID: "com.example.app", kind: .native, teamID: "ABCDE12345"))
    #expect(auth.apple?.onAccountDeleted == .record)
    #expect(auth.deletionPolicy == .eventual)
    #expect(auth.sessionLifetime == 86_400 && auth.anonymousPerHour == 5 && auth.refreshesPerMinute == 7)
  }

  @Test("what Apple's word does, how many identities a user has, and a simulated Apple in development alone")
  func apple() throws {
    func apple(_ more: String) -> String {
      #"{ "apple": { "team_id": "ABCDE12345", "clients": [{ "id": "com.example.app" }], \#(more) } }"#
    }
    let whole = try read(
      apple(#""on_consent_revoked": "delete", "on_account_deleted": "delete", "identities_per_user": 3"#))
    #expect(whole.auth?.apple?.onConsentRevoked == .delete)
    #expect(whole.auth?.apple?.onAccountDeleted == .delete)
    #expect(whole.auth?.apple?.identitiesPerUser == 3)
    #expect(mistakes(apple(#""on_consent_revoked": "record""#)) == ["auth.apple.on_consent_revoked"])
    #expect(mistakes(apple(#""identities_per_user": 0"#)) == ["auth.apple.identities_per_user"])
    for base in ["http://127.0.0.1:9", "https://appleid.example.com", "x"] {
      #expect(mistakes(apple(#""base_url": "\#(base)""#)) == ["auth.apple.base_url"], "\(base)")
    }
    let simulated = try read(
      apple(#""base_url": "http://127.0.0.1:9/x""#), environment: "development")
    #expect(
      simulated.auth?.apple?.service
        == AppleIDService(scheme: "http", authority: "127.0.0.1:9", pathPrefix: "/x"))
  }

  @Test("production keeps no token of Apple's in clear")
  func sealing() {
    let apple = """
      { "apple": { "team_id": "ABCDE12345", "key_id": "KEY1234567", "private_key": { "file": "/key.p8" },
        "clients": [{ "id": "com.example.app" }] } }
      """
    #expect(mistakes(apple) == ["auth.sealing.current"])
  }

  @Test("what is no key of Apple's is named, and nothing of it shown")
  func wrongKey() {
    let apple = #"""
      { "sealing": { "current": { "name": "a", "key": { "env": "SEAL" } } },
        "apple": { "team_id": "ABCDE12345", "key_id": "KEY1234567", "private_key": { "file": "/other" },
        "clients": [{ "id": "com.example.app" }] } }
      """#
    #expect(mistakes(apple, ["SEAL": key]) == ["auth.apple.private_key"])
  }

  @Test("every mistake is named")
  func mistaken() {
    #expect(mistakes(#"{ "access_token_lifetime": 299 }"#) == ["auth.access_token_lifetime"])
    #expect(
      mistakes(#"{ "apple": { "key_id": "KEY1234567" } }"#) == [
        "auth.apple.team_id", "auth.apple.clients", "auth.apple",
      ])
    #expect(
      mistakes(#"{ "apple": { "team_id": "short", "clients": [{ "kind": "native" }] } }"#)
        == ["auth.apple.clients[0].id", "auth.apple.team_id", "auth.apple.clients"])
    #expect(mistakes(#"{ "redirects": ["http://example.com/in"] }"#) == ["auth.redirects[0]"])
    #expect(mistakes(#"{ "redirects": ["https://*.example.com/in"] }"#) == ["auth.redirects[0]"])
    #expect(mistakes(#"{ "site_url": "example.com" }"#) == ["auth.site_url"])
    let short = #"{ "sealing": { "current": { "name": "a", "key": { "env": "SEAL" } } } }"#
    #expect(mistakes(short, ["SEAL": "short"]) == ["auth.sealing.current.key"])
    #expect(mistakes(short, ["SEAL": key]) == [])
    #expect(mistakes(#"{ "jwt_secret": "x" }"#) == ["auth.jwt_secret"])
  }
}
