import HTTPMessages

extension HTTPBody {
  /// The content as a stream.
  var pulled: any HTTPBodyStream {
    switch content {
    case .stream(let stream, _): stream
    case .bytes(let bytes): SingleChunk(bytes)
    }
  }
}

/// Octets at hand as a stream.
private actor SingleChunk: HTTPBodyStream {
  private var bytes: [UInt8]?

  init(_ bytes: [UInt8]) { self.bytes = bytes.isEmpty ? nil : bytes }

  func next() async throws -> [UInt8]? {
    defer { bytes = nil }
    return bytes
  }

  nonisolated func cancel() {}
}
