package import BramleyAPI
package import Encodings
package import HTTPMessages

/// An error as a client is told of it. One value for every surface: `Bramley`'s own routes write it as
/// problem details (RFC 9457), provider routes in the provider's envelope.
package struct Failure: Error, Sendable, Equatable {
  package var status: Int
  package var code: ErrorCode
  /// For a person; holds nothing of the request and no diagnosis.
  package var message: String
  /// Further fields, such as Retry-After.
  package var fields: HTTPFields
  /// Further members of the problem.
  package var members: [Member]
  /// The type in a provider's envelope; nil takes the one that belongs to the status.
  package var providerType: String?
  /// What the log is told and the client is not.
  package var diagnosis: String?
  /// `error` of an error in OAuth's form (RFC 6749 §5.2), as Supabase Auth says what is wrong with an identity
  /// token; nil for any other.
  package var oauthError: String?
  /// The problem's type, a URI; one that is `about:blank` says no more than the status.
  package var problemType = "about:blank"

  /// A further member.
  package struct Member: Sendable, Equatable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  package init(
    _ status: Int, _ code: ErrorCode, _ message: String, fields: HTTPFields = HTTPFields(),
    members: [Member] = [], providerType: String? = nil, diagnosis: String? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.fields = fields
    self.members = members
    self.providerType = providerType
    self.diagnosis = diagnosis
  }

  /// The problem's document.
  package func problem(requestID: String) -> JSONValue {
    .object(
      [
        ("type", .string(problemType)), ("title", .string(Self.title(status))),
        ("status", .integer(status)), ("detail", .string(message)), ("code", .string(code.rawValue)),
        ("message", .string(message)), ("request_id", .string(requestID)),
      ] + members.map { ($0.name, $0.value) })
  }

  private static func title(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Error"
    }
  }
}
