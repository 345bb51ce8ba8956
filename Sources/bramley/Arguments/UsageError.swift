/// A command line that says something the program does not understand. Its description is one line.
enum UsageError: Error, Equatable, CustomStringConvertible {
  /// No command has these words; the nearest one, where one is near.
  case unknownCommand(String, nearest: String?)
  /// The command has no such option.
  case unknownOption(String, nearest: String?)
  /// The option stands last, or before another one.
  case missingValue(option: String, value: String)
  /// A flag was given a value.
  case unexpectedValue(option: String)
  /// The option stands there twice.
  case repeated(option: String)
  /// A required part is not there.
  case missing(String)
  /// More than the command takes.
  case unexpected(String)
  /// The value cannot be read as what the option takes.
  case invalid(name: String, value: String, expected: String)

  var description: String {
    switch self {
    case .unknownCommand(let words, let nearest):
      "there is no command \(Self.quoted(words))" + Self.guess(nearest)
    case .unknownOption(let name, let nearest):
      "there is no option \(Self.quoted(name))" + Self.guess(nearest)
    case .missingValue(let option, let value): "--\(option) needs a value: --\(option) \(value)"
    case .unexpectedValue(let option): "--\(option) takes no value"
    case .repeated(let option): "--\(option) is given twice"
    case .missing(let name): "\(name) is missing"
    case .unexpected(let argument): "\(Self.quoted(argument)) is one argument too many"
    case .invalid(let name, let value, let expected):
      "\(name) is \(Self.quoted(value)), but should be \(expected)"
    }
  }

  private static func guess(_ nearest: String?) -> String {
    nearest.map { "; did you mean \(quoted($0))?" } ?? ""
  }

  /// In quotation marks, on one line, and cut where it is long.
  private static func quoted(_ text: String) -> String {
    let visible = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "�" : Character($0) }
    return "“\(String(visible.prefix(80)))\(visible.count > 80 ? "…" : "")”"
  }
}
