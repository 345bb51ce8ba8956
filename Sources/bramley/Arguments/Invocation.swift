import Server

/// What a command line asks for.
enum Invocation {
  /// The help of one command, or of all that begin with these words.
  case help([String])
  /// The version.
  case version
  /// A command with its arguments.
  case run(any Command.Type, ParsedArguments)

  /// - Parameter arguments: without the program's name.
  init(_ arguments: [String]) throws(UsageError) {
    var words: [String] = []
    for argument in arguments.prefix(while: { !$0.hasPrefix("-") }) {
      guard allCommands.contains(where: { $0.syntax.words.starts(with: words + [argument]) }) else { break }
      words.append(argument)
    }
    let rest = arguments.dropFirst(words.count)
    let beforeEnd = rest.prefix { $0 != "--" }
    if beforeEnd.contains("--help") || beforeEnd.contains("-h") {
      self = .help(words)
    } else if words.isEmpty, rest.first == "--version" {
      self = .version
    } else if words.isEmpty, rest.first == "help" {
      self = .help(Array(rest.dropFirst()))
    } else if let command = allCommands.first(where: { $0.syntax.words == words }) {
      self = .run(command, try ParsedArguments(rest, by: command.syntax))
    } else if let unknown = rest.first {
      throw Self.unknown(after: words, unknown)
    } else if words.isEmpty {
      self = .help([])
    } else {
      throw .missing("the rest of the command: \(Self.continuations(of: words).joined(separator: ", "))")
    }
  }

  private static func unknown(after words: [String], _ argument: String) -> UsageError {
    if argument.hasPrefix("-") { return .unknownOption(argument, nearest: nil) }
    let near = Suggestion.nearest(to: argument, among: continuations(of: words))
    return .unknownCommand(
      (words + [argument]).joined(separator: " "),
      nearest: near.map { (words + [$0]).joined(separator: " ") })
  }

  /// The words that may follow.
  private static func continuations(of words: [String]) -> [String] {
    var found: [String] = []
    for syntax in allCommands.map({ $0.syntax }) where syntax.words.starts(with: words) {
      if let next = syntax.words.dropFirst(words.count).first, !found.contains(next) { found.append(next) }
    }
    return found
  }
}
