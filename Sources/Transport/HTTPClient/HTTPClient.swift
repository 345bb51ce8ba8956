package import HTTPMessages
package import System

/// Sends requests to other servers over HTTP/1.1: libcurl on the event loops.
///
/// A response's body is pulled; a reader that does not pull pauses the connection. Cancelling the task, calling
/// ``HTTPBodyStream/cancel()`` or dropping the body closes the connection at once, so that the other server
/// notices. Redirects are never followed, nothing is taken from the environment, and no request with a body or
/// of an unsafe method is ever sent twice. The fields that frame a message (Host, Content-Length, Connection and
/// the like) are the client's own: those of the request are left out.
///
/// Throws ``HTTPClientError``; the response's body throws it too, or `CancellationError`.
package final class HTTPClient: HTTPHandler {
  /// How it behaves.
  package let configuration: HTTPClientConfiguration
  private let group: EventLoopGroup
  private let connections: [CurlConnections]

  /// A client on these loops. Throws where libcurl cannot be set up for want of descriptors.
  package init(
    on group: EventLoopGroup, _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
  ) throws(SystemError) {
    // A peer that closes while libcurl writes (TLS) raises the signal.
    Signals.ignoreBrokenPipe()
    self.configuration = configuration
    self.group = group
    var connections: [CurlConnections] = []
    for loop in group.loops { connections.append(try CurlConnections(on: loop, configuration)) }
    self.connections = connections
  }

  deinit {
    for connections in connections { connections.loop.execute { connections.retire() } }
  }

  /// Sends the request and returns when the head of the response is there. From any task; on one of the
  /// group's loops it stays there.
  @concurrent
  package func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let outgoing: OutgoingRequest
    do {
      outgoing = try OutgoingRequest(request)
    } catch {
      if case .stream(let stream, _) = request.body.content { stream.cancel() }
      throw error
    }
    let loop = group.currentOrNext()
    guard let connections = connections.first(where: { $0.loop === loop }) else {
      throw HTTPClientError.stopped(requestWritten: false)
    }
    if loop.isCurrent { return try await Self.send(outgoing, over: connections) }
    // On the loop the answer cannot overtake the wait for it, which the thread sanitizer would take for a race.
    return try await withTaskExecutorPreference(loop) {
      try await Self.send(outgoing, over: connections)
    }
  }

  @concurrent
  private static func send(
    _ request: OutgoingRequest, over connections: CurlConnections
  ) async throws -> HTTPResponse {
    let loop = connections.loop
    let transfer = Transfer(request, over: connections)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        loop.perform { transfer.start(continuation) }
      }
    } onCancel: {
      // Posted: the canceller may be anywhere, also inside one of libcurl's callbacks.
      loop.execute { transfer.cancel() }
    }
  }

  /// Ends every transfer with ``HTTPClientError/stopped(requestWritten:)`` and closes the connections.
  package func stop() {
    for connections in connections { connections.loop.execute { connections.close() } }
  }
}
