package import HTTPMessages
package import System

/// An HTTP/1.1 server (RFC 9112) over one handler.
///
/// Each event loop has its own listening sockets and its own connections; a connection is one task on its loop,
/// and so is the handler while it answers, unless it leaves the loop by itself. Cancelling that task is how
/// the handler learns that the peer left. Requests of one connection are answered in order.
///
/// TLS ends before it. What the reader of requests refuses is listed in ``HTTPRefusal``.
package final class HTTPServer: Sendable {
  /// Where it listens, with the ports that the system chose.
  package let addresses: [SocketAddress]
  private let parts: [ServerLoop]

  /// Listens on these addresses and serves until ``shutdown(within:)``. Throws ``SystemError`` where an address
  /// cannot be had.
  package init(
    _ handler: any HTTPHandler, on addresses: [SocketAddress], loops: EventLoopGroup,
    configuration: Configuration = Configuration()
  ) async throws {
    var listeners: [[Listener]] = []
    var bound = addresses
    do {
      for address in addresses { try Listener.requireFree(address) }
      for _ in loops.loops {
        listeners.append([])
        for index in bound.indices {
          let listener = try Listener(bound[index], configuration)
          listeners[listeners.count - 1].append(listener)
          bound[index] = listener.address
        }
      }
    } catch {
      for listener in listeners.joined() { listener.discard() }
      throw error
    }
    self.addresses = bound
    let share = (configuration.connectionLimit + loops.loops.count - 1) / max(1, loops.loops.count)
    parts = zip(loops.loops, listeners).map {
      ServerLoop($0, handler, $1, configuration, connectionLimit: share)
    }
    for part in parts { part.loop.execute { part.startAccepting() } }
  }

  /// Takes no new connection, closes the idle ones, lets running answers end within the limit, cuts what is
  /// left, and returns when all is over.
  package func shutdown(within limit: Duration) async {
    await withTaskGroup { group in
      for part in parts { group.addTask { await part.stop(within: limit) } }
    }
  }

  /// How many connections there are.
  package var connectionCount: Int {
    get async {
      var sum = 0
      for part in parts { sum += await part.loop.run { part.count }.value }
      return sum
    }
  }
}
