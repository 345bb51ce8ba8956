import BramleyAPI
import Encodings
import HTTPMessages

/// How an error is written.
enum ErrorStyle: Sendable {
  /// RFC 9457 problem details.
  case problem
  /// As ``problem``, for the clients of Supabase's functions: `error` is the message, and `x-relay-error` says that
  /// the function was not to be had.
  case function
  /// Anthropic's envelope.
  case anthropic
  /// OpenAI's envelope.
  case openAI
  /// As fal.ai writes it.
  case fal
  /// As Supabase Auth writes it.
  case supabase
  /// As Supabase Storage writes it.
  case storage

  /// What belongs below a path even where no route is.
  static func of(path: Substring) -> ErrorStyle {
    if path.hasPrefix("/ai/anthropic/") { return .anthropic }
    if path.hasPrefix("/functions/v1/") { return .function }
    if path.hasPrefix("/ai/openai/") { return .openAI }
    if path.hasPrefix("/ai/fal/") { return .fal }
    if path.hasPrefix("/storage/v1/") { return .storage }
    return path.hasPrefix("/auth/v1/") ? .supabase : .problem
  }

  /// The answer. `version` is of interest to ``supabase`` alone.
  func response(
    _ failure: Failure, requestID: String, version: SupabaseVersion = .initial
  ) -> HTTPResponse {
    var fields = failure.fields
    // RFC 9110 §15.5.2: a 401 says which scheme is asked for.
    if failure.status == 401, fields["www-authenticate"] == nil {
      let isOfToken = failure.code == .noAuthorization || failure.code == .badJWT
      fields["www-authenticate"] = isOfToken ? "Bearer" : "AppAttest"
    }
    let body: HTTPBody
    switch self {
    case .problem:
      fields["content-type"] = "application/problem+json"
      body = HTTPBody(failure.problem(requestID: requestID).bytes)
    case .function:
      fields["content-type"] = "application/problem+json"
      if failure.status >= 500 { fields["x-relay-error"] = "true" }
      var failure = failure
      failure.members.insert(Failure.Member("error", .string(failure.message)), at: 0)
      body = HTTPBody(failure.problem(requestID: requestID).bytes)
    case .anthropic:
      fields["content-type"] = "application/json"
      fields["request-id"] = requestID
      body = HTTPBody(failure.anthropic(requestID: requestID).bytes)
    case .openAI:
      fields["content-type"] = "application/json"
      body = HTTPBody(failure.openAI(requestID: requestID).bytes)
    case .fal:
      fields["content-type"] = "application/json"
      fields["x-fal-request-id"] = requestID
      fields["x-fal-error-type"] = failure.providerType ?? failure.code.rawValue
      body = HTTPBody(failure.fal(requestID: requestID).bytes)
    case .supabase:
      fields["content-type"] = "application/json"
      body = HTTPBody(failure.supabase(version).bytes)
    case .storage:
      fields["content-type"] = "application/json"
      body = HTTPBody(failure.storage.bytes)
    }
    return HTTPResponse(status: failure.status, fields: fields, body: body)
  }

  /// Adds what every answer has, also one that is no error.
  func finish(_ response: inout HTTPResponse, for request: HTTPRequest) {
    guard self == .supabase, SupabaseVersion(request) == .since2024 else { return }
    response.fields[SupabaseVersion.field] = SupabaseVersion.date
  }
}

/// The version of Supabase Auth's API that a request asks for. Its clients read errors by the version that the
/// answer names, and one of them reads no other than the newer.
enum SupabaseVersion: Sendable {
  case initial
  /// From 2024-01-01 on: `code` is the error's name.
  case since2024

  static let field = "x-supabase-api-version"
  static let date = "2024-01-01"

  init(_ request: HTTPRequest) {
    guard let asked = request.fields[Self.field], asked.utf8.count == 10,
      RFC3339.seconds(asked + "T00:00:00Z") != nil
    else {
      self = .initial
      return
    }
    // Dates of this form are ordered as their octets are.
    self = Array(asked.utf8).lexicographicallyPrecedes(Self.date.utf8) ? .initial : .since2024
  }
}

extension Failure {
  /// The error as Supabase Storage writes it, and `code`: its clients know by `not_found` that there is none.
  var storage: JSONValue {
    let error =
      switch status {
      case 401, 403: "Unauthorized"
      case 404: "not_found"
      default: code.rawValue
      }
    return .object(
      [
        ("statusCode", .string(String(status))), ("error", .string(error)), ("message", .string(message)),
        ("code", .string(code.rawValue)),
      ] + members.map { ($0.name, $0.value) })
  }

  /// The error as Supabase Auth writes it. What is wrong with an identity token has OAuth's members before the
  /// others, as some of its clients show them.
  func supabase(_ version: SupabaseVersion) -> JSONValue {
    let head: [(String, JSONValue)]
    if let oauthError {
      head = [
        ("error", .string(oauthError)), ("error_description", .string(message)),
        ("code", .string(code.rawValue)), ("message", .string(message)),
      ]
    } else if version == .since2024 {
      head = [("code", .string(code.rawValue)), ("message", .string(message))]
    } else {
      head = [
        ("code", .integer(status)), ("error_code", .string(code.rawValue)), ("msg", .string(message)),
      ]
    }
    return .object(head + members.map { ($0.name, $0.value) })
  }
}
