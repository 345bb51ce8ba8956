import Encodings
import HTTPMessages

/// Reads what a call is billed out of its answer: the units that the head tells, else those of the images in the body.
struct FalMeter: UsageMeter {
  /// A longer answer is not kept, and so its images are not counted.
  private static let limit = 1 << 20

  private let unit: FalUnit?
  private let billed: Int64?
  private var body: [UInt8] = []
  private var tooLong = false

  /// - Parameters:
  ///   - unit: what the model is priced by.
  ///   - fields: the head of the answer.
  init(unit: FalUnit?, fields: HTTPFields) {
    self.unit = unit
    billed = FalUnit.billed(fields)
  }

  mutating func read(_ chunk: [UInt8]) {
    if tooLong { return }
    if chunk.count > Self.limit - body.count {
      tooLong = true
      body = []
    } else {
      body.append(contentsOf: chunk)
    }
  }

  var reading: MeterReading {
    let root = tooLong ? nil : try? JSONReader.read(body)
    let images = root?["images"]?.elements.map { Int64($0.count) }
    if let billed {
      return MeterReading(usage: TokenUsage(microUnits: billed), completeness: .final, images: images)
    }
    guard let unit, let root, let counted = unit.counted(in: root) else { return MeterReading() }
    // Images are counted exactly; how fal rounds their pixels it alone knows.
    return MeterReading(
      usage: TokenUsage(microUnits: counted), completeness: unit == .megapixel ? .input : .final,
      images: images)
  }
}
