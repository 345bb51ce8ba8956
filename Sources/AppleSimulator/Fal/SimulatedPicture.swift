import Encodings

/// A call of the simulated fal, checked as a model for pictures checks its input, and what it makes.
struct SimulatedPicture: Sendable {
  let prompt: String
  let images: Int
  let width: Int
  let height: Int
  let seed: Int64
  /// Whether files stand in the answer itself.
  let inline: Bool
  let simulation: Simulation

  private static let sizes = [
    "square_hd": (1024, 1024), "square": (512, 512), "portrait_4_3": (768, 1024),
    "portrait_16_9": (576, 1024),
    "landscape_4_3": (1024, 768), "landscape_16_9": (1024, 576),
  ]

  init(_ bytes: [UInt8]) throws(FalFailure) {
    guard let body = try? JSONReader.read(bytes), body.members != nil else {
      throw .input("body", "Invalid JSON", type: "value_error.jsondecode")
    }
    guard let text = body["prompt"]?.string else {
      throw .input("prompt", "field required", type: "value_error.missing")
    }
    do {
      (simulation, prompt) = try Simulation.read(text, by: .fal)
    } catch {
      throw .input("prompt", error.message)
    }
    let count = body["num_images"].flatMap { $0.isNull ? nil : $0.integer ?? 0 } ?? 1
    guard (1...4).contains(count) else {
      throw .input("num_images", "ensure this value is between 1 and 4")
    }
    images = Int(count)
    seed = body["seed"]?.integer ?? 42
    inline = body["sync_mode"]?.bool ?? false
    switch body["image_size"] {
    case let size? where size.string != nil:
      guard let known = Self.sizes[size.string ?? ""] else {
        throw .input("image_size", "unexpected value; permitted: 'square_hd', …", type: "type_error.enum")
      }
      (width, height) = known
    case let size? where size.members != nil:
      guard let width = size["width"]?.integer, let height = size["height"]?.integer,
        (1...14_142).contains(width), (1...14_142).contains(height)
      else { throw .input("image_size", "ensure these values are between 1 and 14142") }
      (self.width, self.height) = (Int(width), Int(height))
    default: (width, height) = (1024, 768)
    }
  }

  /// Millionths of a megapixel that are billed, each image's begun ones as whole.
  var microUnits: Int { simulation.units ?? images * ((width * height + 999_999) / 1_000_000) * 1_000_000 }

  /// The result. `host` is where its files are.
  func result(id: String, host: String, key: String) -> JSONValue {
    var pictures: [JSONValue] = []
    for number in 0..<images {
      let url =
        inline
        ? "data:image/png;base64," + Base64.encode(Self.png)
        : "https://\(host)/files/simulated/\(id)-\(number).png"
      pictures.append([
        "url": .string(url), "width": .integer(width), "height": .integer(height),
        "content_type": "image/png",
      ])
    }
    return [
      "images": .array(pictures), "timings": ["inference": .number("0.42")], "seed": .integer(seed),
      "has_nsfw_concepts": .array(Array(repeating: false, count: images)),
      "prompt": .string(simulation.echoKey ? prompt + " " + key : prompt),
    ]
  }

  /// Millionths as fal spells a number of units.
  static func units(_ millionths: Int) -> String {
    let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 1_000_000)
    if rest == 0 { return String(whole) }
    let digits = String(rest)
    return "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
  }

  /// A picture of one point.
  static let png =
    Base64.decode(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    ?? []
}
