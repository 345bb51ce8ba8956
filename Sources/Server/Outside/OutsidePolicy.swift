/// Whom one purpose may ask on the network outside, and how much it takes from them (RULES §6.3). Which addresses are
/// connected to is for the client below to judge, at the moment it connects.
package struct OutsidePolicy: Sendable, Equatable {
  /// Why a request did not leave, or its answer was not taken.
  package enum Refusal: Error, Sendable, Equatable {
    /// Neither https nor, where that is allowed, http to this machine.
    case scheme
    /// Another port than 443.
    case port
    /// The host is not listed.
    case host
    /// The other server sent elsewhere; it is not followed.
    case redirect(status: Int)
  }

  /// Names in small letters, or addresses; `*.example.com` stands for every name below `example.com`, without itself.
  package var hosts: Set<String>
  /// Octets of an answer's body.
  package var maximumSize: Int
  /// Whether http and any port are taken where the host is this machine: in development.
  package var allowsLoopback: Bool

  package init(hosts: Set<String>, maximumSize: Int, allowsLoopback: Bool = false) {
    self.hosts = hosts
    self.maximumSize = maximumSize
    self.allowsLoopback = allowsLoopback
  }

  /// Whether a request may leave.
  package func check(scheme: String, authority: String) throws(Refusal) {
    let (host, port) = Self.parts(authority)
    guard lists(host) else { throw .host }
    if allowsLoopback, host == "localhost" || IPAddress(host)?.isLoopback == true { return }
    guard scheme == "https" else { throw .scheme }
    guard port == nil || port == "443" else { throw .port }
  }

  private func lists(_ host: String) -> Bool {
    if hosts.contains(host) { return true }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      if hosts.contains("*.\(rest)") { return true }
    }
    return false
  }

  /// The host in small letters, an IPv6 address without its brackets, and the port as it is written.
  static func parts(_ authority: String) -> (host: String, port: Substring?) {
    let authority = authority.lowercased()
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      let host = authority[authority.index(after: authority.startIndex)..<end]
      let rest = authority[authority.index(after: end)...]
      return (String(host), rest.isEmpty ? nil : rest.dropFirst())
    }
    guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
    return (String(authority[..<colon]), authority[authority.index(after: colon)...])
  }
}
