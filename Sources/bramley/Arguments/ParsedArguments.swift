import Server

/// The arguments of one command, read by its syntax.
struct ParsedArguments: Sendable, Equatable {
  private var values: [String: String] = [:]
  private var flags: Set<String> = []
  private var positionals: [String: String] = [:]

  /// Reads what follows the command's words.
  ///
  /// An option is `--name VALUE` or `--name=VALUE`, a flag `--name`; `--` ends them, so that what follows may
  /// begin with a dash; a lone `-` is a positional.
  init(_ arguments: some Sequence<String>, by syntax: CommandSyntax) throws(UsageError) {
    var rest = Array(arguments)[...]
    var expected = syntax.positionals[...]
    var optionsEnded = false
    while let argument = rest.popFirst() {
      if !optionsEnded, argument == "--" {
        optionsEnded = true
      } else if !optionsEnded, argument.hasPrefix("-"), argument != "-" {
        try take(option: argument, from: &rest, by: syntax)
      } else if let positional = expected.popFirst() {
        positionals[positional.name] = argument
      } else {
        throw .unexpected(argument)
      }
    }
    if let missing = expected.first { throw .missing(missing.name) }
    for option in syntax.options where option.required && values[option.name] == nil {
      throw .missing("--\(option.name) \(option.value ?? "")")
    }
  }

  private mutating func take(
    option argument: String, from rest: inout ArraySlice<String>, by syntax: CommandSyntax
  ) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let typed = String(parts.first ?? "")
    guard typed.hasPrefix("--"), let option = syntax.option(named: typed.dropFirst(2)) else {
      throw .unknownOption(
        typed, nearest: Suggestion.nearest(to: typed, among: syntax.options.map { "--\($0.name)" }))
    }
    let name = option.name
    guard values[name] == nil, !flags.contains(name) else { throw .repeated(option: name) }
    guard let placeholder = option.value else {
      guard parts.count == 1 else { throw .unexpectedValue(option: name) }
      flags.insert(name)
      return
    }
    if parts.count == 2 {
      values[name] = String(parts[1])
    } else if let next = rest.first, !next.hasPrefix("--") {
      values[name] = next
      rest.removeFirst()
    } else {
      throw .missingValue(option: name, value: placeholder)
    }
  }

  /// The option's value, where it was given.
  func value(_ name: String) -> String? { values[name] }

  /// Whether the flag was given.
  func flag(_ name: String) -> Bool { flags.contains(name) }

  /// A required part; empty only where the syntax has no such part.
  func positional(_ name: String) -> String { positionals[name] ?? "" }

  /// The option's value as something else; nil where it was not given.
  func value<Value>(
    _ name: String, expected: String, as convert: (String) -> Value?
  ) throws(UsageError) -> Value? {
    guard let text = values[name] else { return nil }
    guard let value = convert(text) else {
      throw .invalid(name: "--\(name)", value: text, expected: expected)
    }
    return value
  }
}
