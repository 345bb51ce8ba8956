extension HTTPServer {
  /// How patient and how generous the server is. The defaults suit a server behind a proxy on the same machine.
  package struct Configuration: Sendable {
    /// The most octets of a request's head; more is 431.
    package var headLimit = 16_384
    /// The most field lines of a request; more is 431.
    package var fieldLimit = 100
    /// From the first octet of a head to its last; later is 408.
    package var headTimeout = Duration.seconds(10)
    /// How long a connection without a request is kept.
    package var idleTimeout = Duration.seconds(75)
    /// How long the content of a request is waited for, beyond the time that ``bodyRate`` grants, of which
    /// twice as much can be saved up. The time in which the handler does not pull is not counted.
    package var bodyTimeout = Duration.seconds(10)
    /// The slowest sender that is served, in octets a second.
    package var bodyRate = 1_000
    /// How long a peer may take none of the octets that wait for it; then the connection is reset.
    package var writeTimeout = Duration.seconds(30)
    /// How many octets of content that no handler wanted are read, to keep the connection.
    package var drainLimit = 65_536
    /// How long, and how many octets, are read after a last answer to a peer that still sends, so that the
    /// answer is not lost with the connection (RFC 9112 §9.6).
    package var lingerTimeout = Duration.seconds(2)
    /// See ``lingerTimeout``.
    package var lingerLimit = 1 << 20
    /// The most octets that wait unsent in the kernel for one peer (`TCP_NOTSENT_LOWAT`), so that a slow reader
    /// slows the source.
    package var unsentLimit = 131_072
    /// The most connections; further ones wait in the kernel's queue.
    package var connectionLimit = 10_000
    /// The length of the kernel's queue of connections that are not accepted yet.
    package var backlog = 1_024
    /// How long no connection is accepted after the descriptors ran out.
    package var acceptPause = Duration.milliseconds(250)
    /// Told of what a handler threw, other than an ``HTTPBodyError``; the peer sees a plain 500.
    package var onFailure: @Sendable (any Error) -> Void = { _ in }

    /// The defaults.
    package init() {}

    /// How often deadlines are looked at.
    var sweepInterval: Duration {
      let shortest = min(headTimeout, idleTimeout, bodyTimeout, writeTimeout, lingerTimeout)
      return max(.milliseconds(5), min(.seconds(1), shortest / 8))
    }
  }
}
