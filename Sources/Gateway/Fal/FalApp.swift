/// A model of fal.ai that apps may call, and what they may ask of it. Everything is an allow-list: an input field that
/// has no bound here is refused.
package struct FalApp: Sendable, Equatable {
  /// As fal names it, with the path of the variant: `fal-ai/flux/schnell`.
  package var id: String
  /// The most images a call (`num_images`); 0 where the model does not know the field, and makes one.
  package var maximumImages: Int64
  /// The most pixels of an image (`image_size`); 0 where the model does not know the field.
  package var maximumPixels: Int64
  /// The most steps (`num_inference_steps`); 0 where the model does not know the field.
  package var maximumSteps: Int64
  /// The most octets of `prompt` and of `negative_prompt`.
  package var promptLimit: Int
  /// Further fields, each with the texts that it may have, such as `aspect_ratio`.
  package var choices: [String: [String]]

  package init(
    id: String, maximumImages: Int64 = 1, maximumPixels: Int64 = 1_048_576, maximumSteps: Int64 = 0,
    promptLimit: Int = 2_000, choices: [String: [String]] = [:]
  ) {
    self.id = id
    self.maximumImages = maximumImages
    self.maximumPixels = maximumPixels
    self.maximumSteps = maximumSteps
    self.promptLimit = promptLimit
    self.choices = choices
  }

  /// Whether the text names a model: two to six parts of letters, digits, `-`, `_` and `.`, none of which begins
  /// with a point. `requests` is where the queue keeps its calls.
  package static func isName(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return (2...6).contains(parts.count) && text.utf8.count <= 128
      && parts.allSatisfy { part in
        guard let first = part.first, first != UInt8(ascii: "."), !part.elementsEqual("requests".utf8)
        else { return false }
        return part.allSatisfy {
          switch $0 {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
          default: false
          }
        }
      }
  }

  /// Below what the queue keeps a call of the model: owner and app, without the path of the variant, and with the
  /// namespace that some begin with.
  package static func queueName(of id: String) -> String {
    let parts = id.split(separator: "/")
    let count = parts.first == "workflows" || parts.first == "comfy" ? 3 : 2
    return parts.prefix(count).joined(separator: "/")
  }
}

extension FalApp {
  /// Whether the operator may give a field of that name its texts: it has no meaning of its own here, and names no file,
  /// address or other call.
  package static func isChoice(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && !FalInput.fields.contains(name)
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
      && !name.hasSuffix("_url") && !name.hasSuffix("_urls")
  }
}
