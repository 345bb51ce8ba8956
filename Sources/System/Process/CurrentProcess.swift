import Glibc

/// The process that this is.
package enum CurrentProcess {
  /// Ends it now, with that exit code.
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// The environment's variables; of two with one name the first counts, as for getenv(3).
  ///
  /// Nothing in Bramley changes the environment, so that reading it from any thread is sound.
  package static var environment: [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
      let parts = unsafe String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, variables[String(parts[0])] == nil {
        variables[String(parts[0])] = String(parts[1])
      }
      unsafe entry += 1
    }
    return variables
  }
}
