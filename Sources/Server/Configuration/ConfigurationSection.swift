import Encodings

/// What one reading has met: mistakes in order, and every key that was asked for.
final class ConfigurationReading {
  let bytes: [UInt8]
  let sources: ConfigurationSources
  private(set) var mistakes: [ConfigurationMistake] = []
  private(set) var keys: Set<String> = []
  private(set) var usedVariables: Set<String> = []
  /// Only the keys are wanted: lists and maps are walked once although they are empty.
  let survey: Bool

  init(bytes: [UInt8], sources: ConfigurationSources, survey: Bool = false) {
    self.bytes = bytes
    self.sources = sources
    self.survey = survey
  }

  func asked(_ key: String) { keys.insert(key) }

  func variable(_ name: String) -> String? {
    usedVariables.insert(name)
    return sources.variables[name]
  }

  func mistake(_ entry: ConfigurationEntry, _ problem: String, _ remedy: String) {
    mistake(entry.path, entry.place, problem, remedy)
  }

  func mistake(_ path: String, _ place: ConfigurationMistake.Place, _ problem: String, _ remedy: String) {
    mistakes.append(
      ConfigurationMistake(path: path, place: place, problem: problem, remedy: remedy))
  }

  func place(of offset: Int) -> ConfigurationMistake.Place {
    var line = 1
    var column = 1
    for byte in bytes.prefix(offset) {
      column += 1
      if byte == 0x0A {
        line += 1
        column = 1
      }
    }
    return .file(line: line, column: column)
  }
}

/// A value with its path and where it was written.
struct ConfigurationEntry {
  let path: String
  let value: JSONNode
  let place: ConfigurationMistake.Place
  /// The text of the variable that it came from; nil from the file.
  let variableText: String?
  let reading: ConfigurationReading

  /// What stands here in a few words, for a mistake.
  var kind: String {
    switch value.content {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }

  func string() -> String? {
    if let variableText { return variableText }
    if let text = value.string { return text }
    reading.mistake(self, "a string belongs here, not \(kind)", "write it in double quotes")
    return nil
  }

  func integer(_ range: ClosedRange<Int64>) -> Int64? {
    if let number = value.integer, range.contains(number) { return number }
    reading.mistake(
      self, "a whole number belongs here", "write one from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  func bool() -> Bool? {
    if let value = value.bool { return value }
    reading.mistake(self, "true or false belongs here", "write true or false without quotes")
    return nil
  }

  /// The elements; a variable may also give them parted by commas.
  func list() -> [ConfigurationEntry]? {
    if let variableText, value.elements == nil {
      return variableText.split(separator: ",").enumerated().compactMap { index, part in
        let text = part.drop { $0 == " " }
        return ConfigurationSection.node(of: String(text)).map {
          ConfigurationEntry(
            path: "\(path)[\(index)]", value: $0, place: place, variableText: String(text), reading: reading)
        }
      }
    }
    guard let elements = value.elements else {
      reading.mistake(self, "a list belongs here, not \(kind)", "write [ … ]")
      return nil
    }
    return elements.enumerated().map { index, node in
      ConfigurationEntry(
        path: "\(path)[\(index)]", value: node,
        place: variableText == nil ? reading.place(of: node.range.lowerBound) : place, variableText: nil,
        reading: reading)
    }
  }

  func strings() -> [(text: String, entry: ConfigurationEntry)] {
    (list() ?? []).compactMap { entry in entry.string().map { ($0, entry) } }
  }

  func choice<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) -> Choice?
  where Choice.RawValue == String {
    guard let text = string() else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let all = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    reading.mistake(self, "this is none of the choices", "write one of \(all)")
    return nil
  }
}

/// An object of the configuration. Each key is asked for once; what is left over at ``finish()`` is a
/// mistake.
final class ConfigurationSection {
  let path: String
  let reading: ConfigurationReading
  private let keyPath: String
  private let node: JSONNode?
  private let place: ConfigurationMistake.Place
  private let overridable: Bool
  private var known: [String] = []

  init(
    path: String = "", keyPath: String = "", node: JSONNode?, place: ConfigurationMistake.Place = .missing,
    overridable: Bool = true, reading: ConfigurationReading
  ) {
    self.path = path
    self.keyPath = keyPath
    self.node = node
    self.place = place
    self.overridable = overridable
    self.reading = reading
    if let node, node.members == nil {
      reading.mistake(path, place, "an object belongs here", "write { … }")
    }
  }

  /// A JSON value of a text as it stands, or the text as a string.
  static func node(of text: String) -> JSONNode? {
    if let node = try? JSONReader.read(Array(text.utf8)) { return node }
    return try? JSONReader.read(JSONValue.string(text).bytes)
  }

  func fullPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  /// Counts the key as known although its value in the file does not matter.
  func takeWithoutReading(_ key: String) { known.append(key) }

  /// The value of the key: from its variable if that is set, else from the file.
  func entry(_ key: String) -> ConfigurationEntry? {
    known.append(key)
    reading.asked(keyPath.isEmpty ? key : "\(keyPath).\(key)")
    let full = fullPath(key)
    if overridable {
      let name = "BRAMLEY_" + full.replacing(".", with: "_").uppercased()
      if let text = reading.variable(name), let node = Self.node(of: text) {
        return ConfigurationEntry(
          path: full, value: node, place: .variable(name), variableText: text, reading: reading)
      }
    }
    guard let node = node?[key] else { return nil }
    return ConfigurationEntry(
      path: full, value: node, place: reading.place(of: node.range.lowerBound), variableText: nil,
      reading: reading)
  }

  /// The key's value where a string stands in the file itself and no variable overrides it.
  func writtenText(_ key: String) -> ConfigurationEntry? {
    guard node?[key]?.string != nil, let entry = entry(key), entry.variableText == nil else { return nil }
    return entry
  }

  /// The section of that name, empty where it is absent, so that variables alone can fill it.
  func section(_ key: String) -> ConfigurationSection {
    let entry = entry(key)
    return ConfigurationSection(
      path: fullPath(key), keyPath: keyPath.isEmpty ? key : "\(keyPath).\(key)", node: entry?.value,
      place: entry?.place ?? .missing, reading: reading)
  }

  /// Whether the section was written, in the file or by any variable.
  var isPresent: Bool {
    if reading.survey || node != nil { return true }
    let prefix = "BRAMLEY_" + path.replacing(".", with: "_").uppercased() + "_"
    return reading.sources.variables.keys.contains { $0.hasPrefix(prefix) }
  }

  /// Where to point for what is missing here.
  var here: ConfigurationMistake.Place { place }

  /// Each element of a list of objects; nil when the key is absent.
  func objects<Value>(_ key: String, _ read: (ConfigurationSection) -> Value?) -> [Value]? {
    let inner = (keyPath.isEmpty ? key : "\(keyPath).\(key)") + "[]"
    guard let entry = entry(key) else {
      if reading.survey {
        _ = read(
          ConfigurationSection(
            path: "\(fullPath(key))[0]", keyPath: inner, node: nil, overridable: false, reading: reading))
      }
      return nil
    }
    return (entry.list() ?? []).compactMap { element in
      let section = ConfigurationSection(
        path: element.path, keyPath: inner, node: element.value, place: element.place, overridable: false,
        reading: reading)
      let value = read(section)
      section.finish()
      return value
    }
  }

  /// Each member of an object whose names are the operator's own; nil when the key is absent. In the survey's
  /// keys, `*` stands for a name.
  func named<Value>(
    _ key: String, _ example: String, _ read: (String, ConfigurationSection) -> Value?
  ) -> [Value]? {
    let inner = (keyPath.isEmpty ? key : "\(keyPath).\(key)") + ".*"
    guard let entry = entry(key) else {
      if reading.survey {
        _ = read(
          "name",
          ConfigurationSection(
            path: "\(fullPath(key)).name", keyPath: inner, node: nil, overridable: false, reading: reading))
      }
      return nil
    }
    guard let members = entry.value.members else {
      reading.mistake(entry, "an object belongs here, not \(entry.kind)", "write \(example)")
      return nil
    }
    return members.compactMap { member in
      let section = ConfigurationSection(
        path: "\(entry.path).\(member.name)", keyPath: inner, node: member.value,
        place: entry.variableText == nil ? reading.place(of: member.nameRange.lowerBound) : entry.place,
        overridable: false, reading: reading)
      let value = read(member.name, section)
      section.finish()
      return value
    }
  }

  /// Says which keys nobody asked for.
  func finish() {
    for member in node?.members ?? [] where !known.contains(member.name) && member.name != "$schema" {
      let remedy =
        if let nearest = Suggestion.nearest(to: member.name, among: known) {
          "did you mean \"\(nearest)\"? Else remove it"
        } else {
          "remove it; known here: \(known.sorted().joined(separator: ", "))"
        }
      reading.mistake(
        fullPath(member.name), reading.place(of: member.nameRange.lowerBound), "there is no such key", remedy)
    }
  }
}
