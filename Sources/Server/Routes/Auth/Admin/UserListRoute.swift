import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /auth/v1/admin/users?page=&per_page=`: users, newest first.
struct UserListRoute: Endpoint {
  private static let perPageLimit: Int64 = 1_000

  let method = HTTPMethod.get
  let path = AccountTargets.adminUsers
  let service: AccountService
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    _ = try await operators.require(request)
    let parameters = try request.parameters
    let page = try Self.number(parameters["page"], or: 1, upTo: 1_000_000_000)
    let perPage = try Self.number(parameters["per_page"], or: 50, upTo: Self.perPageLimit)
    let found = try await storage {
      try await service.ports.users.users(offset: (page - 1) * perPage, limit: perPage)
    }
    var response = HTTPResponse.json([
      "users": .array(found.users.map(\.json)), "aud": "authenticated",
    ])
    response.fields["x-total-count"] = String(found.total)
    response.fields["link"] = Self.link(page: page, perPage: perPage, total: found.total)
    return response
  }

  /// `page` is the first parameter and each link has one semicolon: clients take these lines apart by hand.
  private static func link(page: Int64, perPage: Int64, total: Int64) -> String {
    let last = max(1, (total + perPage - 1) / perPage)
    let link = { (page: Int64, relation: String) in
      "<\(AccountTargets.adminUsers)?page=\(page)&per_page=\(perPage)>; rel=\"\(relation)\""
    }
    return (page < last ? [link(page + 1, "next")] : []).joined() + (page < last ? ", " : "")
      + link(last, "last")
  }

  private static func number(_ text: String?, or fallback: Int64, upTo limit: Int64) throws(Failure) -> Int64
  {
    guard let text else { return fallback }
    guard text.utf8.count <= 10, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int64(text),
      number >= 1
    else { throw .validation("Bad Pagination Parameters: \(String(text.prefix(16))) is no page") }
    return min(number, limit)
  }
}
