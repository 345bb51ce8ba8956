/// The help, made from what the commands declare.
enum Help {
  /// The width that lines are broken at.
  private static let width = 96

  /// The help of the command with these words, or the list of those that begin with them.
  static func text(for words: [String]) -> String {
    let matching = allCommands.map { $0.syntax }.filter { $0.words.starts(with: words) }
    if let syntax = matching.first(where: { $0.words == words }) { return text(for: syntax) }
    let listed = matching.isEmpty ? allCommands.map { $0.syntax } : matching
    return list(listed, of: matching.isEmpty ? [] : words)
  }

  private static func list(_ commands: [CommandSyntax], of words: [String]) -> String {
    let prefix = (["bramley"] + words).joined(separator: " ")
    var text = """
      Usage: \(prefix) COMMAND [OPTION]...

      """
    if words.isEmpty {
      text +=
        "\nThe backend of an app: accounts for its users, and AI with your key for its genuine copies alone.\n"
    }
    text += "\nCommands:\n"
    text += table(commands.map { ($0.name, $0.summary) })
    text += "\n`bramley COMMAND --help` says more of a command, `bramley --version` which Bramley this is.\n"
    if words.isEmpty { text += "\n" + exitCodes }
    return text
  }

  private static func text(for syntax: CommandSyntax) -> String {
    let parts =
      syntax.positionals.map { $0.name }
      + syntax.options.map { option in
        let typed = "--\(option.name)" + (option.value.map { "\u{a0}\($0)" } ?? "")
        return option.required ? typed : "[\(typed)]"
      }
    var text = paragraph(parts.joined(separator: " "), after: "Usage: bramley \(syntax.name) ")
    text += "\n\(syntax.summary)\n"
    if !syntax.discussion.isEmpty { text += "\n\(syntax.discussion)\n" }
    if !syntax.positionals.isEmpty {
      text += "\nArguments:\n" + table(syntax.positionals.map { ($0.name, $0.summary) })
    }
    let options = syntax.options.map { option in
      (
        "--\(option.name)" + (option.value.map { " \($0)" } ?? ""),
        option.summary + (option.fallback.map { " (default: \($0))" } ?? "")
      )
    }
    text += "\nOptions:\n" + table(options + [("--help", "this text")])
    return text + "\n" + exitCodes
  }

  private static let exitCodes =
    "Exit codes:\n" + table(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) })

  /// Two columns.
  private static func table(_ rows: [(String, String)]) -> String {
    let column = min(rows.map { $0.0.count }.max() ?? 0, 34)
    return rows.map { left, right in
      let pad = String(repeating: " ", count: max(column - left.count, 0))
      return paragraph(right, after: "  \(left)\(pad)  ", indent: column + 4)
    }.joined()
  }

  /// The text broken between words, the first line begun by the prefix and the others indented. A
  /// no-break space keeps words together and becomes a space.
  private static func paragraph(_ text: String, after prefix: String, indent: Int? = nil) -> String {
    let indent = String(repeating: " ", count: indent ?? prefix.count)
    var lines: [String] = []
    var line = prefix
    var isEmpty = true
    for word in text.split(separator: " ") {
      if !isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = indent
        isEmpty = true
      }
      line += (isEmpty ? "" : " ") + word
      isEmpty = false
    }
    lines.append(line)
    return lines.joined(separator: "\n").map { $0 == "\u{a0}" ? " " : String($0) }.joined() + "\n"
  }
}
