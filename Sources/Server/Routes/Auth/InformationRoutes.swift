import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages

/// `GET /auth/v1/health`
struct AccountHealthRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.health

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    .json([
      "version": "bramley", "name": "GoTrue", "description": "The API of GoTrue, answered by Bramley",
    ])
  }
}

/// `GET /auth/v1/settings`: what is open.
struct SettingsRoute: Endpoint {
  /// Providers of Supabase Auth that are none of this server's.
  private static let closed = [
    "azure", "bitbucket", "discord", "facebook", "snapchat", "figma", "fly", "github", "gitlab", "google",
    "keycloak", "kakao", "linkedin", "linkedin_oidc", "notion", "spotify", "slack", "slack_oidc", "workos",
    "twitch", "twitter", "x", "email", "phone", "zoom",
  ]

  let method = HTTPMethod.get
  let path = AccountTargets.settings
  let auth: Configuration.Auth

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let external: [(String, JSONValue)] =
      [("anonymous_users", .bool(auth.anonymous)), ("apple", .bool(auth.apple != nil))]
      + Self.closed.map { ($0, false) }
    return .json([
      "external": .object(external), "disable_signup": .bool(!auth.signUps), "mailer_autoconfirm": false,
      "phone_autoconfirm": false, "sms_provider": "", "saml_enabled": false,
      "saml_private_key_next_configured": false, "passkeys_enabled": false,
    ])
  }
}

/// `GET /auth/v1/.well-known/jwks.json`: the keys of access tokens (RFC 7517).
struct KeySetRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.keys
  let keys: SigningKeys

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    var response = HTTPResponse.json(try await keys.published(now: exchange.startedAt).json)
    response.fields["cache-control"] = "public, max-age=600"
    return response
  }
}

/// `GET /auth/v1/.well-known/openid-configuration` (OpenID Connect Discovery).
struct DiscoveryRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AccountTargets.discovery
  let configuration: Configuration

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let base = configuration.accountsURL
    var response = HTTPResponse.json([
      "issuer": .string(configuration.accountsIssuer), "authorization_endpoint": .string(base + "/authorize"),
      "token_endpoint": .string(base + "/token"), "jwks_uri": .string(base + "/.well-known/jwks.json"),
      "userinfo_endpoint": .string(base + "/user"), "response_types_supported": ["code"],
      "grant_types_supported": ["refresh_token", "id_token", "pkce"], "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["ES256"], "code_challenge_methods_supported": ["S256"],
      "claims_supported": [
        "iss", "sub", "aud", "exp", "iat", "email", "role", "aal", "amr", "session_id", "is_anonymous",
        "auth_time", "acr",
      ],
    ])
    response.fields["cache-control"] = "public, max-age=600"
    return response
  }
}
