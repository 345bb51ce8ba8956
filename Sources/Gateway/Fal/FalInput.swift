import Encodings

/// The input of a call under the bounds of its model: what it may come to, and the changes that the policy makes.
struct FalInput {
  let app: FalApp
  let root: JSONNode
  private(set) var splice = JSONSplice()
  private(set) var images: Int64 = 1
  private(set) var pixels: Int64 = 0

  /// Sizes that have names, in pixels.
  static let presets: [(name: String, pixels: Int64)] = [
    ("landscape_4_3", 1024 * 768), ("portrait_4_3", 768 * 1024), ("landscape_16_9", 1024 * 576),
    ("portrait_16_9", 576 * 1024), ("square_hd", 1024 * 1024), ("square", 512 * 512),
  ]
  private static let formats = ["jpeg", "png", "webp"]
  /// The names that have a meaning of their own, and so cannot be a choice of the operator's.
  static let fields: Set<String> = [
    "prompt", "negative_prompt", "seed", "num_images", "image_size", "num_inference_steps", "guidance_scale",
    "enable_safety_checker", "output_format", "sync_mode",
  ]

  /// - Parameter queued: whether the call goes by the queue, which has no answer to put files into.
  init(app: FalApp, root: JSONNode, queued: Bool) throws(ProviderRefusal) {
    self.app = app
    self.root = root
    guard root.members != nil else { throw .invalid("body", "must be an object") }
    var known = Self.fields.union(app.choices.keys)
    if app.maximumImages == 0 { known.remove("num_images") }
    if app.maximumPixels == 0 { known.remove("image_size") }
    if app.maximumSteps == 0 { known.remove("num_inference_steps") }
    try root.only(known, at: "")
    guard root["prompt"] != nil else { throw .invalid("prompt", "is missing") }
    try text("prompt")
    try text("negative_prompt")
    try whole("seed", in: 0...Int64.max)
    if app.maximumSteps > 0 { try whole("num_inference_steps", in: 1...app.maximumSteps) }
    try readImages()
    try readSize()
    if let scale = present("guidance_scale") {
      guard let value = scale.double, (0...100).contains(value) else {
        throw .invalid("guidance_scale", "must be a number from 0 to 100")
      }
    }
    try choice("output_format", Self.formats)
    for (name, texts) in app.choices.sorted(by: { $0.key < $1.key }) { try choice(name, texts) }
    if let check = present("enable_safety_checker"), check.bool != true {
      throw .invalid("enable_safety_checker", "must be true; leave it out")
    }
    if let inline = present("sync_mode") {
      guard let value = inline.bool else { throw .invalid("sync_mode", "must be true or false") }
      if value, queued {
        throw ProviderRefusal(
          "inline_files_not_allowed", place: "sync_mode",
          "Files within the answer are for direct calls; leave it out in the queue.")
      }
    }
  }

  /// A member that says something; null stands for fal's own default.
  private func present(_ name: String) -> JSONNode? { root[name].flatMap { $0.isNull ? nil : $0 } }

  private func text(_ name: String) throws(ProviderRefusal) {
    guard let node = present(name) else {
      if name == "prompt" { throw .invalid(name, "must be a string") }
      return
    }
    guard let value = node.string else { throw .invalid(name, "must be a string") }
    guard !value.isEmpty || name != "prompt" else { throw .invalid(name, "must not be empty") }
    guard value.utf8.count <= app.promptLimit else {
      throw ProviderRefusal(
        "prompt_too_long", place: name, "At most \(app.promptLimit) octets are allowed here.")
    }
  }

  @discardableResult
  private func whole(
    _ name: String, in range: ClosedRange<Int64>
  ) throws(ProviderRefusal) -> Int64? {
    guard let node = present(name) else { return nil }
    guard case .number(let spelled) = node.content, let value = node.integer, range.contains(value),
      spelled == String(value)
    else {
      let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
      throw .invalid(name, "must be a whole number from \(range.lowerBound)\(most)")
    }
    return value
  }

  private func choice(_ name: String, _ texts: [String]) throws(ProviderRefusal) {
    guard let node = present(name) else { return }
    // By octets: Swift's own equality takes canonically equal texts for one.
    guard let value = node.string, texts.contains(where: { $0.utf8.elementsEqual(value.utf8) }) else {
      throw .invalid(name, "must be one of \(texts.joined(separator: ", "))")
    }
  }

  /// What is left out is said, so that a default of fal's cannot be more than what is held.
  private mutating func readImages() throws(ProviderRefusal) {
    guard app.maximumImages > 0 else { return }
    if let asked = try whole("num_images", in: 1...app.maximumImages) {
      images = asked
    } else if let null = root["num_images"] {
      splice.replace(null, with: 1)
    } else {
      splice.insert("num_images", 1, into: root)
    }
  }

  private mutating func readSize() throws(ProviderRefusal) {
    guard app.maximumPixels > 0 else { return }
    let allowed = Self.presets.filter { $0.pixels <= app.maximumPixels }
    let names = allowed.map(\.name).joined(separator: ", ")
    guard let size = present("image_size") else {
      guard let standard = allowed.first else {
        throw .invalid("image_size", "is missing: width and height of \(app.maximumPixels) pixels at most")
      }
      pixels = standard.pixels
      if let null = root["image_size"] {
        splice.replace(null, with: .string(standard.name))
      } else {
        splice.insert("image_size", .string(standard.name), into: root)
      }
      return
    }
    if let name = size.string {
      guard let preset = allowed.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
        throw .invalid("image_size", "must be one of \(names), or width and height")
      }
      pixels = preset.pixels
      return
    }
    guard size.members != nil else {
      throw .invalid("image_size", "must be one of \(names), or width and height")
    }
    try size.only(["width", "height"], at: "image_size")
    guard let width = side(size["width"]), let height = side(size["height"]),
      let area = PicoDollars.product(width, height), area <= app.maximumPixels
    else {
      throw .invalid(
        "image_size", "must be width and height, whole numbers, of \(app.maximumPixels) pixels at most")
    }
    pixels = area
  }

  private func side(_ node: JSONNode?) -> Int64? {
    guard let node, case .number(let spelled) = node.content, let value = node.integer,
      (1...16_384).contains(value), spelled == String(value)
    else { return nil }
    return value
  }
}
