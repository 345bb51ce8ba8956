/// What a command takes, declared once: it is parsed by this and explained by this.
struct CommandSyntax: Sendable {
  /// A part that is recognized by where it stands, such as `FILE`.
  struct Positional: Sendable {
    /// In capitals, as the help shows it.
    var name: String
    /// A phrase for the help.
    var summary: String
  }

  /// A part that is recognized by its name, such as `--listen 127.0.0.1:8080`.
  struct Option: Sendable {
    /// Without the dashes.
    var name: String
    /// What its value is called in the help; nil for a flag, which has none.
    var value: String?
    /// A phrase for the help.
    var summary: String
    /// What holds without it, as the help shows it.
    var fallback: String?
    /// Whether the command cannot do without.
    var required = false
  }

  /// The words that choose the command, such as `keys debug create`.
  var words: [String]
  /// One sentence for the list of commands.
  var summary: String
  /// Each is required.
  var positionals: [Positional] = []
  /// In the order of the help.
  var options: [Option] = []
  /// More for the command's own help.
  var discussion = ""

  /// The words as they are typed.
  var name: String { words.joined(separator: " ") }

  func option(named name: some StringProtocol) -> Option? { options.first { $0.name == name } }
}
