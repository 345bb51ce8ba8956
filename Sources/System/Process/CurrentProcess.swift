import Glibc

/// The process that this is.
package enum CurrentProcess {
  /// Ends it now, with that exit code.
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// Its number (PID), which another process has after it.
  package static var identifier: Int32 { getpid() }

  /// The name of the machine or container that it runs on.
  package static var host: String {
    var name = [UInt8](repeating: 0, count: 256)
    let code = unsafe name.withUnsafeMutableBytes { bytes -> Int32 in
      guard let base = bytes.baseAddress else { return -1 }
      return unsafe gethostname(base.assumingMemoryBound(to: CChar.self), bytes.count - 1)
    }
    return code == 0 ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : "unknown"
  }

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
