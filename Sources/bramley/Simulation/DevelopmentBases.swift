import Server
import Transport

/// The base URLs under which phones and browsers may reach a development server: what they sign for is one of them
/// (RULES §1.2).
struct DevelopmentBases: Equatable {
  /// On this machine.
  let own: String
  /// From other machines; none where only this one can connect.
  let others: [String]
  private let more: [String]

  /// - Parameters:
  ///   - addresses: this machine's, as others reach them.
  ///   - host: its name.
  init(_ listen: ListenAddress, addresses: [SocketAddress], host: String) {
    let isAny = ["0.0.0.0", "::"].contains(listen.host)
    let isIPv6 = listen.host.contains(":")
    func base(_ host: String) -> String { "http://\(ListenAddress(host: host, port: listen.port))" }
    own = isAny ? base(isIPv6 ? "::1" : "127.0.0.1") : base(listen.host)
    var others: [String] = []
    if isAny {
      others = addresses.filter { $0.isIPv6 == isIPv6 }.map { base($0.host) }
      // As the network's own names have it (multicast DNS), which phones of Apple look up.
      let label = host.prefix { $0 != "." }
      if !label.isEmpty, label.utf8.allSatisfy(Self.isInName) { others.append(base("\(label).local")) }
    } else if !listen.isLoopback {
      others = [own]
    }
    self.others = others
    more = [base("localhost")] + (isAny ? [base(listen.host)] : [])
  }

  /// All of them, each once.
  var audiences: [String] {
    ([own] + more + others).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  private static func isInName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      || byte == UInt8(ascii: "-")
  }
}
