import Encodings
import Gateway

extension ConfigurationSection {
  /// The fields of a function's input, in the order in which they are written.
  func fields(_ key: String) -> [FunctionField] {
    named(key, "{ \"dish\": { \"type\": \"string\", \"max_length\": 200 } }") { name, section in
      if !FunctionField.isName(name), !survey {
        reading.mistake(
          section.path, section.here, "this is no name for a field",
          "write a small letter, then small letters, digits and underscores, 32 at most")
      }
      let isOptional = section.entry("optional")?.bool() ?? false
      return section.shape(nested: false).map { FunctionField(name, $0, isOptional: isOptional) }
    } ?? []
  }

  private enum Kind: String, CaseIterable {
    case string
    case integer
    case number
    case boolean
    case choice = "enum"
    case list
    case image
  }

  /// - Parameter nested: whether it is that of a list's elements, which are no lists and no images.
  private func shape(nested: Bool) -> FunctionField.Shape? {
    let type = entry("type")
    let length = entry("max_length")
    let (minimum, maximum) = (entry("minimum"), entry("maximum"))
    let values = entry("values")
    let count = nested ? nil : entry("max_count")
    let items = nested ? nil : section("items")
    let bytes = nested ? nil : entry("max_bytes")
    let inner = survey || items?.here != .missing ? items?.shape(nested: true) : nil
    if items?.here != .missing { items?.finish() }
    if survey { return nil }
    guard let type else {
      missing("type", "write \"type\": \"string\", or another of integer, number, boolean, enum, list, image")
      return nil
    }
    guard let kind = type.choice(Kind.self) else { return nil }
    let known: [(String, ConfigurationEntry?, Set<Kind>)] = [
      ("max_length", length, [.string]), ("minimum", minimum, [.integer, .number]),
      ("maximum", maximum, [.integer, .number]), ("values", values, [.choice]),
      ("max_count", count, [.list]), ("items", nested ? nil : entry("items"), [.list]),
      ("max_bytes", bytes, [.image]),
    ]
    for (name, entry, kinds) in known where !kinds.contains(kind) {
      if let entry { reading.mistake(entry, "\(name) says nothing of \(kind.rawValue)", "remove it") }
    }
    switch kind {
    case .string:
      guard let length else { return missing("max_length", "write one such as \"max_length\": 200") }
      return length.integer(1...100_000).map { .string(maximumLength: Int($0)) }
    case .integer:
      guard let range = integers(minimum, maximum) else { return nil }
      return .integer(range)
    case .number:
      guard let range = numbers(minimum, maximum) else { return nil }
      return .number(range)
    case .boolean: return .boolean
    case .choice:
      guard let values else {
        return missing("values", "write those that may be sent: [\"small\", \"large\"]")
      }
      let texts = values.strings().map(\.text)
      guard (1...200).contains(texts.count), texts.allSatisfy({ $0.utf8.count <= 200 }) else {
        reading.mistake(values, "from 1 to 200 texts of at most 200 octets belong here", "write [\"small\"]")
        return nil
      }
      return .choice(texts)
    case .list, .image:
      guard !nested else {
        reading.mistake(type, "a list has no \(kind.rawValue) in it", "write a type of single values")
        return nil
      }
      if kind == .image {
        guard let bytes else { return missing("max_bytes", "write one such as \"max_bytes\": 1000000") }
        return bytes.integer(1...5_000_000).map { .image(maximumBytes: Int($0)) }
      }
      guard let count else { return missing("max_count", "write one such as \"max_count\": 10") }
      guard items?.here != .missing else {
        return missing("items", "write { \"type\": \"string\", \"max_length\": 40 }")
      }
      guard let inner, let limit = count.integer(1...1_000) else { return nil }
      return .list(inner, maximumCount: Int(limit))
    }
  }

  @discardableResult
  private func missing(_ key: String, _ remedy: String) -> FunctionField.Shape? {
    reading.mistake(fullPath(key), here, "\(key) is missing", remedy)
    return nil
  }

  private func integers(
    _ minimum: ConfigurationEntry?, _ maximum: ConfigurationEntry?
  ) -> ClosedRange<Int64>? {
    guard let minimum, let maximum else {
      missing(minimum == nil ? "minimum" : "maximum", "write both ends, such as 1 and 5000")
      return nil
    }
    guard let low = minimum.integer(.min ... .max), let high = maximum.integer(.min ... .max) else {
      return nil
    }
    if low <= high { return low...high }
    reading.mistake(maximum, "this is less than minimum", "write \(low) or more")
    return nil
  }

  private func numbers(
    _ minimum: ConfigurationEntry?, _ maximum: ConfigurationEntry?
  ) -> ClosedRange<Double>? {
    guard let minimum, let maximum else {
      missing(minimum == nil ? "minimum" : "maximum", "write both ends, such as 0.5 and 100")
      return nil
    }
    guard let low = minimum.number(), let high = maximum.number() else { return nil }
    if low <= high { return low...high }
    reading.mistake(maximum, "this is less than minimum", "write \(low) or more")
    return nil
  }
}

extension ConfigurationEntry {
  /// A finite number.
  func number() -> Double? {
    if let number = value.double, number.isFinite { return number }
    reading.mistake(self, "a number belongs here, not \(kind)", "write it without quotes")
    return nil
  }
}
