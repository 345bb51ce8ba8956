/// Reads chunked content (RFC 9112 §7.1). Extensions and trailers are read, bounded and dropped.
struct ChunkedDecoder: Sendable {
  private enum State {
    case size(digits: Int)
    case blank, extensions, sizeLineFeed
    case data
    case dataReturn, dataLineFeed
    case trailerStart, trailerName, trailerValue, trailerLineFeed, lastLineFeed
    case done
  }

  /// The most octets of extensions after one chunk size, and of the whole trailer section.
  static let extensionLimit = 256
  static let trailerLimit = 4_096
  /// Fifteen digits stay far below Int.max.
  private static let digitLimit = 15

  private var state = State.size(digits: 0)
  private var remaining = 0
  private var overhead = 0

  /// Whether the last octet was read.
  var isDone: Bool { if case .done = state { true } else { false } }

  /// The next piece of content, `limit` octets at most; nil when more octets are needed or at the end.
  mutating func read(_ input: inout ByteQueue, limit: Int) throws(HTTPRefusal) -> [UInt8]? {
    while !input.isEmpty, !isDone {
      if case .data = state {
        let piece = input.take(min(remaining, limit, input.count))
        remaining -= piece.count
        if remaining == 0 { state = .dataReturn }
        return piece
      }
      let taken = try readFraming(input.storage[input.start...])
      input.drop(taken)
    }
    return nil
  }

  /// Reads up to the next octet of content, or to the end; returns how many octets that took.
  private mutating func readFraming(_ bytes: ArraySlice<UInt8>) throws(HTTPRefusal) -> Int {
    var taken = 0
    for byte in bytes {
      try read(byte)
      taken += 1
      switch state {
      case .data, .done: return taken
      default: continue
      }
    }
    return taken
  }

  private mutating func read(_ byte: UInt8) throws(HTTPRefusal) {
    switch state {
    case .size(let digits):
      if let digit = RequestTarget.hexadecimal(byte) {
        guard digits < Self.digitLimit else { throw .chunkTooLarge }
        remaining = remaining << 4 | Int(digit)
        state = .size(digits: digits + 1)
      } else {
        guard digits > 0 else { throw .malformedChunk }
        overhead = 0
        try endSize(byte, mayEnd: true)
      }
    case .blank: try endSize(byte, mayEnd: false)
    case .extensions:
      overhead += 1
      guard overhead <= Self.extensionLimit else { throw .chunkTooLarge }
      if byte == 0x0D { state = .sizeLineFeed } else { try checkText(byte, .malformedChunk) }
    case .sizeLineFeed:
      guard byte == 0x0A else { throw .malformedChunk }
      overhead = 0
      state = remaining == 0 ? .trailerStart : .data
    case .dataReturn:
      guard byte == 0x0D else { throw .malformedChunk }
      state = .dataLineFeed
    case .dataLineFeed:
      guard byte == 0x0A else { throw .malformedChunk }
      state = .size(digits: 0)
    case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed, .lastLineFeed:
      try readTrailer(byte)
    case .data, .done: break
    }
  }

  private mutating func endSize(_ byte: UInt8, mayEnd: Bool) throws(HTTPRefusal) {
    switch byte {
    case 0x0D where mayEnd: state = .sizeLineFeed
    case 0x3B: state = .extensions
    case 0x20, 0x09:
      overhead += 1
      guard overhead <= Self.extensionLimit else { throw .chunkTooLarge }
      state = .blank
    default: throw .malformedChunk
    }
  }

  private mutating func readTrailer(_ byte: UInt8) throws(HTTPRefusal) {
    overhead += 1
    guard overhead <= Self.trailerLimit else { throw .trailerTooLarge }
    switch state {
    case .trailerStart where byte == 0x0D: state = .lastLineFeed
    case .trailerStart:
      guard RequestTarget.isToken(byte) else { throw .malformedTrailer }
      state = .trailerName
    case .trailerName where byte == 0x3A: state = .trailerValue
    case .trailerName: guard RequestTarget.isToken(byte) else { throw .malformedTrailer }
    case .trailerValue where byte == 0x0D: state = .trailerLineFeed
    case .trailerValue: try checkText(byte, .malformedTrailer)
    case .trailerLineFeed:
      guard byte == 0x0A else { throw .malformedTrailer }
      state = .trailerStart
    default:
      guard byte == 0x0A else { throw .malformedTrailer }
      state = .done
    }
  }

  private func checkText(_ byte: UInt8, _ refusal: HTTPRefusal) throws(HTTPRefusal) {
    guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { throw refusal }
  }
}
