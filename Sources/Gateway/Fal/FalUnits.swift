import Encodings
import HTTPMessages

/// What fal.ai bills by. Counts are in millionths, since a part of a unit may be billed.
package enum FalUnit: String, Sendable, CaseIterable {
  case image
  /// A million pixels of an image, begun ones counted as whole.
  case megapixel
  /// A call, whatever it makes.
  case call

  /// More units than this no call can come to; a figure above it is not believed.
  static let ceiling: Int64 = 1_000_000
  private static let million: Int64 = 1_000_000

  /// Millionths of a unit that so many images of so many pixels come to at most; nil when that is more than is
  /// believed.
  func microUnits(images: Int64, pixels: Int64) -> Int64? {
    let units: Int64? =
      switch self {
      case .call: 1
      case .image: images
      case .megapixel:
        PicoDollars.product(
          images, max(0, pixels) / Self.million + (max(0, pixels) % Self.million > 0 ? 1 : 0))
      }
    guard let units, (0...Self.ceiling).contains(units) else { return nil }
    return units * Self.million
  }

  /// What `x-fal-billable-units` says, such as `1` or `3.008`, in millionths, rounded up; nil where it is not said
  /// once, is no plain decimal number, or is not believed.
  static func billed(_ fields: HTTPFields) -> Int64? {
    let values = fields.values("x-fal-billable-units")
    guard values.count == 1, let text = values.first else { return nil }
    let octets = Array(text.utf8)
    let parts = octets.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard octets.count <= 32,
      parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }),
      let whole = parts.first.flatMap({ Int64(String(decoding: $0, as: UTF8.self)) }), whole <= ceiling
    else { return nil }
    var sum = whole * million
    if parts.count == 2 {
      var place = million / 10
      for digit in parts[1].prefix(6) {
        sum += Int64(digit - 0x30) * place
        place /= 10
      }
      if parts[1].dropFirst(6).contains(where: { $0 != 0x30 }) { sum += 1 }
    }
    return sum
  }

  /// What the images of an answer come to, in millionths; nil where the answer does not tell. One that has none tells
  /// nothing: a model ran, and is not free (RULES §5.2).
  func counted(in root: JSONNode) -> Int64? {
    guard let images = root["images"]?.elements, (1...Self.ceiling).contains(Int64(images.count)) else {
      return nil
    }
    switch self {
    case .call: return Self.million
    case .image: return microUnits(images: Int64(images.count), pixels: 0)
    case .megapixel:
      var sum: Int64 = 0
      for image in images {
        guard let width = image["width"]?.integer, let height = image["height"]?.integer, width > 0,
          height > 0, let pixels = PicoDollars.product(width, height),
          let units = microUnits(images: 1, pixels: pixels), let total = PicoDollars.sum([sum, units])
        else { return nil }
        sum = total
      }
      return sum
    }
  }
}
