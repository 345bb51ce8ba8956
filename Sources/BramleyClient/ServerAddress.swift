import BramleyAPI

/// A base URL taken apart: where requests go, and what is signed as audience.
struct ServerAddress: Equatable {
  let scheme: String
  let authority: String
  /// The path before every target; empty or `/…` without a slash at its end.
  let prefix: String

  /// The URL without a slash at its end.
  var text: String { "\(scheme)://\(authority)\(prefix)" }

  /// Reads `https://host[:port][/path]`. Plain http is for this machine, or where `allowsPlainHTTP` says so.
  init(_ url: String, allowsPlainHTTP: Bool) throws(BramleyError) {
    let failure = BramleyError(.invalidBaseURL)
    guard let scheme = ["https", "http"].first(where: { url.hasPrefix("\($0)://") }) else { throw failure }
    let rest = url.dropFirst(scheme.count + 3)
    let authority = rest.prefix { $0 != "/" }
    var prefix = rest.dropFirst(authority.count)
    while prefix.last == "/" { prefix = prefix.dropLast() }
    let host = authority.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
        UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    let path = prefix.utf8.allSatisfy {
      $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    guard host, path, !authority.isEmpty, authority.first != ":" else { throw failure }
    guard scheme == "https" || allowsPlainHTTP || Self.isThisMachine(authority) else { throw failure }
    self.scheme = scheme
    self.authority = String(authority)
    self.prefix = String(prefix)
  }

  private static func isThisMachine(_ authority: Substring) -> Bool {
    if authority == "[::1]" || authority.hasPrefix("[::1]:") { return true }
    let host = authority.prefix { $0 != ":" }
    if host == "localhost" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
