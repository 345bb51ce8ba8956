package import HTTPMessages

/// Asks servers that somebody else named, within a policy (RULES §6.3).
///
/// Throws ``OutsidePolicy/Refusal``, `HTTPBodyError.tooLarge`, and what the network throws; the body throws the latter
/// two.
package struct OutsideClient: HTTPHandler {
  private let network: any HTTPHandler
  private let policy: OutsidePolicy

  /// - Parameter network: one of ``OutsideNetwork``, which judges addresses and never follows a redirect.
  package init(_ network: any HTTPHandler, _ policy: OutsidePolicy) {
    self.network = network
    self.policy = policy
  }

  package func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    try policy.check(scheme: request.scheme, authority: request.authority)
    var response = try await network.respond(to: request)
    if 300..<400 ~= response.status {
      response.body.discard()
      throw OutsidePolicy.Refusal.redirect(status: response.status)
    }
    if let length = response.body.length, length > policy.maximumSize {
      response.body.discard()
      throw HTTPBodyError.tooLarge(limit: policy.maximumSize)
    }
    if case .stream(let stream, let length) = response.body.content {
      response.body = HTTPBody(stream: CappedBody(stream, limit: policy.maximumSize), length: length)
    }
    return response
  }
}

extension HTTPBody {
  /// Nobody wants it: the source is told to stop.
  fileprivate func discard() {
    if case .stream(let stream, _) = content { stream.cancel() }
  }
}

/// A body that breaks once it is longer than it may be, whatever length was announced. One task pulls at a time.
private actor CappedBody: HTTPBodyStream {
  private let source: any HTTPBodyStream
  private let limit: Int
  private var taken = 0

  init(_ source: any HTTPBodyStream, limit: Int) {
    self.source = source
    self.limit = limit
  }

  func next() async throws -> [UInt8]? {
    guard let chunk = try await source.next() else { return nil }
    guard chunk.count <= limit - taken else {
      source.cancel()
      throw HTTPBodyError.tooLarge(limit: limit)
    }
    taken += chunk.count
    return chunk
  }

  nonisolated func cancel() { source.cancel() }

  deinit { source.cancel() }
}
