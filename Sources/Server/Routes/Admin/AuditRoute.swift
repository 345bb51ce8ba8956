import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /admin/v1/audit?user=&action=&from=&to=&limit=&cursor=`: the audit log, newest first.
struct AuditRoute: Endpoint {
  /// Lines of a page at most, and where nothing else is asked for.
  static let (limit, standard): (Int64, Int64) = (1_000, 100)

  let method = HTTPMethod.get
  let path = AdminTargets.audit
  let store: any AuditStore
  let operators: OperatorCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let name = try await operators.require(request)
    exchange.notes.append(("admin_key", .string(name)))
    let asked = try AuditQuery(request.parameters)
    let entries = try await storage {
      try await store.audit(asked.filter, before: asked.cursor, limit: asked.limit)
    }
    // A full page may be the last: then the next one is empty.
    let next = entries.count == Int(clamping: asked.limit) ? entries.last?.id : nil
    return .json([
      "entries": .array(entries.map(\.json)),
      "next_cursor": next.map { .string(String($0)) } ?? .null,
    ])
  }
}

/// What is asked of the audit log. Each parameter comes once or not at all, and no other comes: one with a slip of
/// the pen would show lines that were not asked for.
struct AuditQuery: Sendable, Equatable {
  var filter = AuditFilter()
  var cursor: Int64?
  var limit = AuditRoute.standard

  init(_ parameters: FormParameters) throws(Failure) {
    var seen: Set<String> = []
    for parameter in parameters.parameters {
      let (name, value) = (parameter.name, parameter.value)
      guard seen.insert(name).inserted else {
        throw .invalidRequest("\(String(name.prefix(32))) comes twice.")
      }
      switch name {
      case "user":
        guard let user = UUID(value) else { throw .invalidRequest("user is a UUID.") }
        filter.user = user
      case "action":
        guard AuditAction(rawValue: value) != nil else {
          throw .invalidRequest(
            "action is one of " + AuditAction.allCases.map(\.rawValue).joined(separator: ", ") + ".")
        }
        filter.action = value
      case "from": filter.from = try Self.time(value, of: name)
      case "to": filter.to = try Self.time(value, of: name)
      case "cursor":
        guard let id = Self.number(value) else {
          throw .invalidRequest("cursor is next_cursor of an answer.")
        }
        cursor = id
      case "limit":
        guard let count = Self.number(value), (1...AuditRoute.limit).contains(count) else {
          throw .invalidRequest("limit is a number from 1 to \(AuditRoute.limit).")
        }
        limit = count
      default:
        throw .invalidRequest("This route takes user, action, from, to, limit and cursor.")
      }
    }
  }

  /// Milliseconds since 1970.
  private static func time(_ text: String, of name: String) throws(Failure) -> Int64 {
    guard let seconds = AuditTime.seconds(text) else {
      throw .invalidRequest("\(name) is a date, or a date and time, such as 2026-10-09T18:00:00Z.")
    }
    return seconds * 1_000
  }

  private static func number(_ text: String) -> Int64? {
    guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(text)
  }
}

/// Times as operators write them.
package enum AuditTime {
  /// Seconds since 1970 of a date and time of RFC 3339, or of a date's first instant in UTC; nil for anything else.
  package static func seconds(_ text: String) -> Int64? {
    RFC3339.seconds(text.utf8.count == 10 ? text + "T00:00:00Z" : text)
  }
}
