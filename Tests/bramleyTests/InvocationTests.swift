import Testing

@testable import bramley

@Suite("The command line")
struct InvocationTests {
  @Test("nothing at all, and --help, list every command")
  func list() async {
    for arguments in [[], ["--help"], ["help"], ["-h"]] {
      let run = await CommandRun(arguments)
      #expect(run.code == .success)
      #expect(run.errors.isEmpty)
      for command in allCommands { #expect(run.output.contains("  \(command.syntax.name) ")) }
    }
  }

  @Test("every command has a help that names its options, its exit codes, and fits a terminal")
  func help() async {
    for command in allCommands {
      let run = await CommandRun(command.syntax.words + ["--help"])
      #expect(run.code == .success)
      #expect(run.output.contains("Usage: bramley \(command.syntax.name)"))
      for option in command.syntax.options { #expect(run.output.contains("--\(option.name)")) }
      for positional in command.syntax.positionals { #expect(run.output.contains(positional.name)) }
      #expect(run.output.contains("  64  the command line is not understood"))
      for line in run.output.split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
    }
  }

  @Test("a group without its command says which there are")
  func group() async {
    let run = await CommandRun("inspect")
    #expect(run.code == .usage)
    #expect(run.errors.contains("attestation, assertion, receipt"))
    #expect(await CommandRun("inspect", "--help").output.contains("inspect receipt"))
  }

  @Test("an error is one line on stderr, nothing on stdout, and 64")
  func errors() async {
    for arguments in [
      ["serv"], ["inspect", "atestation", "f"], ["--verson"], ["inspect", "receipt"],
      ["inspect", "receipt", "f", "--at", "yesterday"], ["inspect", "receipt", "f", "g"],
      ["inspect", "attestation", "f", "--key-id", "c2hvcnQ="],
    ] {
      let run = await CommandRun(arguments)
      #expect(run.code == .usage, "\(arguments)")
      #expect(run.output.isEmpty)
      #expect(run.errors.hasPrefix("bramley: "))
      #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    }
    #expect(await CommandRun("inspect", "atestation").errors.contains("inspect attestation"))
  }

  @Test("--version")
  func version() async {
    let run = await CommandRun("--version")
    #expect(run.output == "bramley \(Version.current)\n")
  }

  @Test("--help after -- is an argument")
  func afterEnd() async {
    #expect(await CommandRun("inspect", "receipt", "--", "--help").code == .failure)
  }
}
