/// What an app may fill into a function's prompt: one named field of its input.
package struct FunctionField: Sendable, Equatable {
  /// What belongs into a field. Each shape is bounded, so that the prompt is.
  package indirect enum Shape: Sendable, Equatable {
    /// At most so many Unicode code points.
    case string(maximumLength: Int)
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case boolean
    /// One of these texts.
    case choice([String])
    case list(Shape, maximumCount: Int)
    /// A PNG, JPEG, GIF or WebP file of at most so many octets, in base64.
    case image(maximumBytes: Int)
  }

  /// Small letters, digits and underscores, beginning with a letter: it stands in the prompt as it is.
  package var name: String
  package var shape: Shape
  /// Whether it may be left out; it is `null` in the prompt then.
  package var isOptional: Bool

  package init(_ name: String, _ shape: Shape, isOptional: Bool = false) {
    self.name = name
    self.shape = shape
    self.isOptional = isOptional
  }

  /// Whether it is a file beside the text.
  package var isImage: Bool { if case .image = shape { true } else { false } }

  /// Whether a text can be the name of a field or of a function: at most 32 octets.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 32, (0x61...0x7A).contains(first) else {
      return false
    }
    return text.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
  }
}
