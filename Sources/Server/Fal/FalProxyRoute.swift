import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// `/ai/fal/proxy`: fal's clients for Swift and JavaScript send everything to one URL, and say in `x-fal-target-url`
/// whom of fal's they mean. What is meant goes to the route that it has here, with that route's policy.
///
/// Where the target stands in a header, no assertion is taken (RULES §1.2): the header is none of the bytes that an
/// assertion signs.
struct FalProxyRoute: Endpoint {
  static let path = "/ai/fal/proxy"
  static let methods: [HTTPMethod] = [.get, .post, .put]
  private static let field = "x-fal-target-url"

  let method: HTTPMethod
  /// The routes of fal.
  let router: Router

  var path: String { Self.path }
  var errors: ErrorStyle { .fal }

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard request.query == nil else { throw Failure.invalidRequest("The query belongs to the target.") }
    if try PresentedEvidence(assertionIn: request.fields) != nil {
      throw Failure.invalidRequest(
        "The target stands in a header, so that no assertion is taken here; send a session token.")
    }
    let values = request.fields.values(Self.field)
    guard values.count == 1, let target = values.first.flatMap(Self.target) else {
      throw Failure(
        400, "target_not_allowed", "\(Self.field) names one URL of fal.run or queue.fal.run, by https.")
    }
    var meant = request
    meant.target = target
    meant.fields.remove(Self.field)
    return try await router.respond(to: meant, &exchange)
  }

  /// The target here of a URL at fal; nil for any other. The hosts are fal's own names, whatever is configured: they
  /// choose a route, and nothing is sent to them.
  static func target(_ url: String) -> String? {
    guard url.utf8.count <= 2_048, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
    else { return nil }
    for (base, way) in [("https://fal.run/", "run"), ("https://queue.fal.run/", "queue")]
    where url.hasPrefix(base) {
      return "/ai/fal/\(way)/" + url.dropFirst(base.count)
    }
    return nil
  }
}
