import Accounts
import HTTPMessages

/// Lets operators in, by opaque keys of which the database has the hashes (RULES §6.1). No access token ever
/// opens these routes.
struct OperatorCheck: Sendable {
  let keys: any AdminKeyStore

  /// The name of the operator's key. Clients of Supabase send it as bearer and in `apikey`.
  func require(_ request: HTTPRequest) async throws -> String {
    guard let key = BearerCheck.token(request) else { throw Failure.noAuthorization }
    guard key.utf8.count <= 128, key.hasPrefix(Token.adminPrefix) else { throw Failure.notAdmin }
    let name = try await storage { try await keys.adminKey(hash: Token.hash(key)) }
    guard let name else { throw Failure.notAdmin }
    return name
  }
}
