/// A base URL as configuration has it: `http` or `https`, a host, perhaps a port and a path, nothing else.
package struct BaseURL: Sendable, Equatable {
  package let scheme: String
  /// Host and port.
  package let authority: String
  /// Empty, or `/…` without a slash at its end.
  package let path: String

  /// Nil for what is no such URL: user information, query, fragment, an odd character, `..`.
  package init?(_ text: String) {
    let scheme: String
    if text.hasPrefix("https://") {
      scheme = "https"
    } else if text.hasPrefix("http://") {
      scheme = "http"
    } else {
      return nil
    }
    let rest = text.dropFirst(scheme.count + 3)
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count)
    let allowed = { (byte: UInt8) in
      byte > 0x20 && byte < 0x7F && !Array("?#@\\%\"<>^`{|}".utf8).contains(byte)
    }
    guard !authority.isEmpty, authority.utf8.allSatisfy(allowed), path.utf8.allSatisfy(allowed),
      !path.hasSuffix("/"), !path.contains("//"), !path.split(separator: "/").contains(".."),
      !path.split(separator: "/").contains("."), Self.isAuthority(authority)
    else { return nil }
    self.scheme = scheme
    self.authority = String(authority)
    self.path = String(path)
  }

  /// Whether the host is this machine.
  package var isLoopback: Bool {
    let host = Self.host(authority[...])
    return host == "localhost" || IPAddress(host)?.isLoopback == true
  }

  private static func host(_ authority: Substring) -> Substring {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      return authority[authority.index(after: authority.startIndex)..<end]
    }
    return authority.prefix { $0 != ":" }
  }

  private static func isAuthority(_ authority: Substring) -> Bool {
    let host = host(authority)
    guard !host.isEmpty else { return false }
    let bracketed = authority.hasPrefix("[")
    if bracketed, IPAddress(host) == nil { return false }
    let tail = authority.dropFirst(host.count + (bracketed ? 2 : 0))
    if tail.isEmpty { return true }
    return tail.hasPrefix(":") && tail.dropFirst().utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
      && UInt16(tail.dropFirst()).map { $0 > 0 } == true
  }
}
