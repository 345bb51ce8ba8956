/// Where a browser may be sent at the end of a sign-in (RULES §3.1): exact URLs, or one host's or scheme's paths
/// by a pattern.
package struct RedirectList: Sendable, Equatable {
  /// A URL, in whose path `*` stands for characters other than `/` and `**` for any.
  package struct Rule: Sendable, Equatable {
    /// With what every match begins: for http and https scheme and host, for a scheme of an app that alone.
    fileprivate let origin: [UInt8]
    fileprivate let pattern: [UInt8]
    /// Whether it is plain http.
    package let isClear: Bool

    /// nil for what is no absolute URL, or has a pattern outside of the path.
    package init?(_ text: String) {
      guard let parts = RedirectList.parts(text), !parts.origin.contains(UInt8(ascii: "*")) else {
        return nil
      }
      origin = parts.origin
      pattern = parts.rest
      isClear = text.hasPrefix("http:")
    }
  }

  private let rules: [Rule]
  /// Whether every URL of this machine is allowed, as in `dev`.
  private let allowsLoopback: Bool

  package init(_ rules: [Rule] = [], allowsLoopback: Bool = false) {
    self.rules = rules
    self.allowsLoopback = allowsLoopback
  }

  /// Whether the URL may be gone to. supabase-js appends a parameter `sb_flow_id` of its own to one that is
  /// allowed.
  package func allows(_ text: String) -> Bool {
    guard let parts = Self.parts(text), !parts.rest.contains(UInt8(ascii: "*")) else { return false }
    if allowsLoopback, let base = BaseURL(String(decoding: parts.origin, as: UTF8.self)), base.isLoopback {
      return true
    }
    let rest = Self.withoutFlowID(parts.rest)
    return rules.contains { $0.origin == parts.origin && Self.matches(rest[...], $0.pattern[...]) }
  }

  /// Whether it is an absolute URL that a browser can be sent to.
  package static func isURL(_ text: String) -> Bool { parts(text) != nil }

  /// nil for what browsers and this code could read differently: blanks and controls, backslashes, user
  /// information, a fragment, dot segments, a scheme that runs as a script.
  private static func parts(_ text: String) -> (origin: [UInt8], rest: [UInt8])? {
    let octets = Array(text.utf8)
    let scheme = octets.prefix { $0 != UInt8(ascii: ":") }
    let isScheme =
      scheme.first.map { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A } == true
      && scheme.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
      }
    guard octets.count <= 2_048, isScheme, scheme.count >= 2,
      octets.dropFirst(scheme.count).starts(with: "://".utf8),
      !["javascript", "data", "vbscript", "file", "blob", "about"].contains(
        String(decoding: scheme, as: UTF8.self)),
      octets.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !#"\@#"<>^`{|}"#.utf8.contains($0) })
    else { return nil }
    let rest = Array(octets.dropFirst(scheme.count + 3))
    let path = rest.prefix { $0 != UInt8(ascii: "?") }
    let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    if segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) { return nil }
    if path.contains(UInt8(ascii: "%")) { return nil }
    let head = Array(octets.prefix(scheme.count + 3))
    guard scheme.elementsEqual("http".utf8) || scheme.elementsEqual("https".utf8) else { return (head, rest) }
    let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    if authority.isEmpty { return nil }
    let tail = Array(rest.dropFirst(authority.count))
    return (head + authority, tail.isEmpty ? [UInt8(ascii: "/")] : tail)
  }

  private static func withoutFlowID(_ rest: [UInt8]) -> [UInt8] {
    guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return rest }
    let kept = rest[(mark + 1)...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      .filter { !$0.starts(with: "sb_flow_id=".utf8) }
    if kept.isEmpty { return Array(rest[..<mark]) }
    return Array(rest[...mark] + kept.joined(separator: [UInt8(ascii: "&")]))
  }

  /// Linear but for the number of stars: the pattern is the operator's.
  private static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
    let star = UInt8(ascii: "*")
    guard let first = pattern.first else { return text.isEmpty }
    guard first == star else { return text.first == first && matches(text.dropFirst(), pattern.dropFirst()) }
    let isDeep = pattern.dropFirst().first == star
    let rest = pattern.drop { $0 == star }
    var text = text
    while true {
      if matches(text, rest) { return true }
      guard let next = text.popFirst() else { return false }
      // A query is never the pattern's to give.
      if next == UInt8(ascii: "?") || next == UInt8(ascii: "/") && !isDeep { return false }
    }
  }
}
