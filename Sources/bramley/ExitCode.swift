/// How the program ends. docs/configuration.md and every `--help` name them.
enum ExitCode: Int32, CaseIterable, Sendable {
  /// All is well; of `inspect`, every check holds.
  case success = 0
  /// The command failed, or a check does not hold; the reason is on stderr.
  case failure = 1
  /// The command line is not understood (EX_USAGE of sysexits.h).
  case usage = 64
  /// The configuration has mistakes (EX_CONFIG).
  case configuration = 78

  /// A phrase for the help.
  var meaning: String {
    switch self {
    case .success: "all is well"
    case .failure: "it failed, or a check does not hold"
    case .usage: "the command line is not understood"
    case .configuration: "the configuration has mistakes"
    }
  }
}
