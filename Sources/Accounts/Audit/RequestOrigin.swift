/// Who asks for an act and from where, as the audit log keeps it: no address of mail, no person's name, no token.
package struct RequestOrigin: Sendable, Equatable {
  package enum Actor: Sendable, Equatable {
    /// The account's own user, or whoever holds what the user has.
    case user
    /// An operator by the key of this name (RULES §6.1).
    case `operator`(key: String)
    /// An operator at the machine, by a command.
    case command
    /// Apple, by a notification or an answer.
    case apple
    /// This server, by itself.
    case server
  }

  package var actor: Actor
  /// The client's address as it is counted: an IPv4 address, or an IPv6 /64.
  package var address: String?
  /// The id of the App Attest key whose assertion came with the request.
  package var device: [UInt8]?

  package init(_ actor: Actor, address: String? = nil, device: [UInt8]? = nil) {
    self.actor = actor
    self.address = address
    self.device = device
  }

  package static let user = RequestOrigin(.user)
  package static let command = RequestOrigin(.command)
  package static let apple = RequestOrigin(.apple)
  package static let server = RequestOrigin(.server)

  /// With the key that the request's assertion was made with, where one came.
  package func with(device: [UInt8]?) -> RequestOrigin {
    RequestOrigin(actor, address: address, device: device ?? self.device)
  }
}

extension RequestOrigin.Actor {
  /// As the log spells it; the operator's key stands apart.
  package var word: String {
    switch self {
    case .user: "user"
    case .operator: "operator"
    case .command: "command"
    case .apple: "apple"
    case .server: "server"
    }
  }

  /// The name of the operator's key.
  package var key: String? {
    if case .operator(let key) = self { key } else { nil }
  }

  /// nil for a word that is none.
  package init?(word: String, key: String?) {
    switch word {
    case "user": self = .user
    case "operator": self = .operator(key: key ?? "")
    case "command": self = .command
    case "apple": self = .apple
    case "server": self = .server
    default: return nil
    }
  }
}
