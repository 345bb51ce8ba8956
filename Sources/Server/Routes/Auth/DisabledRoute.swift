import BramleyAPI
import HTTPMessages

/// A call of Supabase Auth that is not part of this server: it answers the error that Supabase Auth has for a
/// server without it, never a bare 404.
struct DisabledRoute: Endpoint {
  let method: HTTPMethod
  let path: String
  let failure: Failure

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    throw failure
  }

  /// All of them.
  static let all: [DisabledRoute] = table.map { method, path, failure in
    DisabledRoute(method: method, path: AccountTargets.prefix + path, failure: failure)
  }

  private static let table: [(HTTPMethod, String, Failure)] = [
    (.post, "/otp", .emailLoginsDisabled), (.post, "/magiclink", .emailLoginsDisabled),
    (.post, "/recover", .emailLoginsDisabled), (.post, "/resend", .emailLoginsDisabled),
    (.post, "/invite", .emailSignUpsDisabled), (.post, "/admin/generate_link", .emailLoginsDisabled),
    (.get, "/reauthenticate", .reauthenticationDisabled), (.post, "/verify", .otpDisabled),
    (.get, "/verify", .otpDisabled), (.post, "/sso", .samlDisabled),
    (.get, "/sso/saml/metadata", .samlDisabled), (.post, "/sso/saml/acs", .samlDisabled),
    (.get, "/admin/sso/providers", .samlDisabled), (.post, "/admin/sso/providers", .samlDisabled),
    (.post, "/factors", .factorsDisabled), (.delete, "/factors/{id}", .factorsDisabled),
    (.post, "/factors/{id}/challenge", .factorsDisabled), (.post, "/factors/{id}/verify", .factorsDisabled),
    (.get, "/admin/sso/providers/{id}", .samlDisabled), (.put, "/admin/sso/providers/{id}", .samlDisabled),
    (.delete, "/admin/sso/providers/{id}", .samlDisabled),
    (.get, "/admin/users/{id}/factors", .factorsDisabled),
  ]
}
