import System

/// The program. Its entry is a type in a file of its own, since closures at the top level of a `main.swift`
/// belong to the main actor and trap when another thread calls them (SE-0423).
@main
enum Entry {
  static func main() async {
    Signals.ignoreBrokenPipe()
    let code = await run(Array(CommandLine.arguments.dropFirst()), Console())
    CurrentProcess.exit(code.rawValue)
  }

  static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
    do {
      switch try Invocation(arguments) {
      case .help(let words): console.write(Help.text(for: words))
      case .version: console.print("bramley \(Version.current)")
      case .run(let command, let parsed): return try await command.init(parsed).run(console)
      }
      return .success
    } catch let error as UsageError {
      console.fail("\(error) (bramley --help)")
      return .usage
    } catch let failure as CommandFailure {
      console.fail(failure.message)
      return failure.code
    } catch {
      console.fail("\(error)")
      return .failure
    }
  }
}
