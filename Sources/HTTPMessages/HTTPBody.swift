/// The content of a message: octets at hand, or a stream that is pulled.
public struct HTTPBody: Sendable {
  /// How the content is given.
  public enum Content: Sendable {
    /// All of it.
    case bytes([UInt8])
    /// Pulled chunk by chunk; `length` is known where the sender announced it, in octets.
    case stream(any HTTPBodyStream, length: Int?)
  }

  /// How the content is given.
  public let content: Content

  /// Octets at hand.
  public init(_ bytes: [UInt8]) { content = .bytes(bytes) }
  /// A text in UTF-8.
  public init(_ text: String) { content = .bytes(Array(text.utf8)) }
  /// A stream.
  public init(stream: any HTTPBodyStream, length: Int? = nil) {
    content = .stream(stream, length: length)
  }

  /// No octets.
  public static let empty = HTTPBody([])

  /// The length in octets where it is known.
  public var length: Int? {
    switch content {
    case .bytes(let bytes): bytes.count
    case .stream(_, let length): length
    }
  }

  /// Everything, if it is no more than `limit` octets; else throws ``HTTPBodyError/tooLarge(limit:)``, for an
  /// announced length before a single octet is read.
  public func collect(upTo limit: Int) async throws -> [UInt8] {
    if let length, length > limit { throw HTTPBodyError.tooLarge(limit: limit) }
    switch content {
    case .bytes(let bytes): return bytes
    case .stream(let stream, _):
      var collected: [UInt8] = []
      while let chunk = try await stream.next() {
        if chunk.count > limit - collected.count {
          stream.cancel()
          throw HTTPBodyError.tooLarge(limit: limit)
        }
        if collected.isEmpty { collected = chunk } else { collected.append(contentsOf: chunk) }
      }
      return collected
    }
  }
}

/// Content that is produced as it is asked for. The consumer pulls, so a slow reader slows the source.
///
/// One task pulls at a time. Whoever drops a stream before its end calls ``cancel()``; implementations
/// cancel in `deinit` as well.
public protocol HTTPBodyStream: AnyObject, Sendable {
  /// The next chunk, never empty; nil at the end, and ever after. Throws when the source breaks, or
  /// `CancellationError` when the task is cancelled.
  func next() async throws -> [UInt8]?
  /// The rest is not wanted: the source is told to stop. Harmless when called again or after the end.
  func cancel()
}

/// Why a body could not be had.
public enum HTTPBodyError: Error, Equatable, Sendable {
  /// It is longer than the route takes; the limit in octets.
  case tooLarge(limit: Int)
  /// The sender was slower than the server waits for.
  case timedOut
  /// The sender left, or broke the framing, before the end.
  case incomplete
}
