/// How an ``HTTPClient`` behaves.
package struct HTTPClientConfiguration: Sendable {
  /// For the name, the connection and TLS together.
  package var connectTimeout: Duration = .seconds(5)
  /// From the last octet of the request to the end of the response's head.
  package var headTimeout: Duration = .seconds(120)
  /// Between two pieces of a response's body; a reader that does not read stops this clock.
  package var idleTimeout: Duration = .seconds(120)
  /// From the start to the last octet.
  package var totalTimeout: Duration = .seconds(15 * 60)
  /// Octets of all lines of a response's head.
  package var maximumHeadSize = 64 * 1024
  /// Octets of a body that wait for the reader before the connection is paused.
  package var bodyBuffer = 64 * 1024
  /// A connection that was idle for longer is not used again: the other side is likely to have closed it.
  package var maximumIdleAge: Duration = .seconds(60)
  /// Idle connections kept on each loop.
  package var maximumIdleConnections = 64
  /// Whether to connect to addresses that are not on the public internet (RULES §6.3). False for every host that
  /// somebody else names.
  package var allowsPrivateAddresses = true
  /// Which of those are allowed all the same where they are not all: told 4 or 16 octets in network order. Called on
  /// the loop, at the moment of connecting.
  package var allowsAddress: (@Sendable (_ octets: [UInt8]) -> Bool)?
  /// A PEM file of the authorities to trust; nil for the system's.
  package var certificateAuthorities: String?
  /// Told what libcurl says of a failure, with the authority asked: for the log. It holds no part of the request.
  package var diagnose: (@Sendable (_ authority: String, _ text: String) -> Void)?

  /// The defaults of every property.
  package init() {}
}
