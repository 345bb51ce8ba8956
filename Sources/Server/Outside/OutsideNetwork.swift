package import HTTPMessages

/// The network to servers that are neither providers nor Apple. Each of its clients connects to public addresses alone,
/// and to those that the configuration allows; nothing is sent by it but through an ``OutsideClient``.
package struct OutsideNetwork: Sendable {
  /// For files that a provider made: two minutes for all of it.
  package var files: any HTTPHandler
  /// For outgoing events: fifteen seconds.
  package var webhooks: any HTTPHandler
  /// For hooks, for whose answer somebody waits: five seconds.
  package var hooks: any HTTPHandler

  package init(files: any HTTPHandler, webhooks: any HTTPHandler, hooks: any HTTPHandler) {
    self.files = files
    self.webhooks = webhooks
    self.hooks = hooks
  }

  /// One client for all.
  package init(_ client: any HTTPHandler) { self.init(files: client, webhooks: client, hooks: client) }

  /// Reaches nobody.
  package static let none = OutsideNetwork(Unreachable())

  private struct Unreachable: HTTPHandler {
    func respond(to request: HTTPRequest) async throws -> HTTPResponse { throw HTTPClientError.connect }
  }
}

extension Configuration {
  /// Whether an address that is not on the public internet may be connected to (RULES §6.3).
  ///
  /// - Parameter address: 4 or 16 octets in network order.
  package func allowsOutside(_ address: [UInt8]) -> Bool {
    guard let address = IPAddress(octets: address) else { return false }
    if deployment == .development, address.isLoopback { return true }
    return allowedAddresses.contains { $0.contains(address) }
  }
}
