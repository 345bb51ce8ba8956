import Encodings

/// Reads usage out of a copy of an answer. The answer itself passes untouched.
package protocol UsageMeter: Sendable {
  /// The next octets of the answer, cut anywhere.
  mutating func read(_ chunk: [UInt8])
  /// What is known now.
  var reading: MeterReading { get }
}

/// What a meter knows of an answer.
package struct MeterReading: Sendable, Equatable {
  /// How much of the usage the provider has told.
  package enum Completeness: Int, Sendable, Comparable {
    /// Nothing that can be relied on.
    case nothing
    /// An answer to this very request has begun, of which no figure is known.
    case begun
    /// The input side.
    case input
    /// Everything: these are the final figures.
    case final

    package static func < (left: Completeness, right: Completeness) -> Bool { left.rawValue < right.rawValue }
  }

  /// The figures so far.
  package var usage: TokenUsage
  package var completeness: Completeness
  /// The images of the answer; nil where nobody counted them.
  package var images: Int64?
  /// Octets of visible text so far.
  package var visibleOctets: Int64
  /// Whether the answer so far is visible text alone, all of which was read.
  package var visibleOnly: Bool

  package init(
    usage: TokenUsage = TokenUsage(), completeness: Completeness = .nothing, images: Int64? = nil,
    visibleOctets: Int64 = 0, visibleOnly: Bool = false
  ) {
    self.usage = usage
    self.completeness = completeness
    self.images = images
    self.visibleOctets = visibleOctets
    self.visibleOnly = visibleOnly
  }
}

/// An answer that is read once it has ended.
struct WholeAnswer: Sendable {
  /// A longer one is not kept, and so has no usage.
  private static let limit = 8 << 20

  private var body: [UInt8] = []
  private var tooLong = false

  mutating func read(_ chunk: [UInt8]) {
    if tooLong || chunk.count > Self.limit - body.count {
      tooLong = true
      body = []
    } else {
      body.append(contentsOf: chunk)
    }
  }

  /// The JSON that it is; nil while it is not whole, and where it is none.
  var json: JSONNode? { tooLong ? nil : try? JSONReader.read(body) }
}
