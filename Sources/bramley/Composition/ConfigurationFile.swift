import Server
import System

/// Reads the configuration with the real files and variables.
enum ConfigurationFile {
  /// The whole, checked; throws a failure that names every mistake, a line each.
  ///
  /// - Parameter path: the file; nil takes `bramley.jsonc` of the working directory where there is one, else
  ///   the defaults, which listen on loopback alone.
  static func read(
    _ path: String?, _ console: Console, for reader: Configuration.Reader = .server
  ) throws(CommandFailure) -> Configuration {
    let sources = try sources(path)
    let unknown = Configuration.unknownVariables(sources)
    if !unknown.isEmpty {
      console.note("bramley: these variables set nothing: \(unknown.joined(separator: ", "))")
    }
    do {
      return try Configuration.read(sources, for: reader)
    } catch {
      for mistake in error.mistakes { console.note("bramley: \(path ?? usual): \(mistake)") }
      let count = error.mistakes.count
      throw CommandFailure(
        message: count == 1 ? "the configuration has a mistake" : "the configuration has \(count) mistakes",
        code: .configuration)
    }
  }

  private static let usual = "bramley.jsonc"
  /// Of a configuration, and of a file that holds a secret.
  private static let limit = 1 << 20

  private static func sources(_ path: String?) throws(CommandFailure) -> ConfigurationSources {
    var text: [UInt8]?
    if let path = path ?? (Files.exists(usual) ? usual : nil) {
      do {
        text = try Files.read(path, upTo: limit)
      } catch {
        throw CommandFailure(message: "cannot read \(path): \(error)", code: .configuration)
      }
    }
    return ConfigurationSources(
      text: text, variables: CurrentProcess.environment,
      readFile: { try? Files.read($0, upTo: limit) },
      zoneExists: { ZoneFiles.read($0) != nil })
  }
}
