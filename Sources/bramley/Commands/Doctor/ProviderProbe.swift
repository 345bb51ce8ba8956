import Encodings
import HTTPMessages
import System
import Transport

/// Whether a provider answers, and by how much its clock differs from ours.
enum ProviderProbe {
  /// Challenges and receipts bear some seconds of difference; more is a clock that nobody sets.
  private static let tolerance: Int64 = 30

  static func findings(name: String, baseURL: String) async -> [Finding] {
    guard let scheme = ["https", "http"].first(where: { baseURL.hasPrefix("\($0)://") }) else { return [] }
    let authority = baseURL.dropFirst(scheme.count + 3).prefix { $0 != "/" }
    let request = HTTPRequest(method: .get, scheme: scheme, authority: String(authority), target: "/")
    do {
      let loops = try EventLoopGroup(loops: 1)
      defer { loops.stop() }
      let response = try await HTTPClient(on: loops).respond(to: request)
      if case .stream(let stream, _) = response.body.content { stream.cancel() }
      return [
        Finding(.good, "provider", "\(name): \(authority) answers"), clock(response.fields["date"]),
      ]
    } catch {
      return [Finding(.bad, "provider", "\(name): \(authority) does not answer: \(error)")]
    }
  }

  private static func clock(_ date: String?) -> Finding {
    guard let date, let theirs = seconds(ofHTTPDate: date) else {
      return Finding(.note, "clock", "the provider does not say what time it is")
    }
    let difference = WallClock.seconds - theirs
    return abs(difference) <= tolerance
      ? Finding(.good, "clock", "within \(tolerance) seconds of the provider's")
      : Finding(
        .bad, "clock", "\(abs(difference)) seconds \(difference > 0 ? "ahead of" : "behind") the provider's")
  }

  /// The instant of an IMF-fixdate (RFC 9110 §5.6.7), such as `Mon, 30 Nov 2026 03:47:45 GMT`.
  static func seconds(ofHTTPDate text: String) -> Int64? {
    let parts = text.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
      return nil
    }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return RFC3339.seconds("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
  }
}
