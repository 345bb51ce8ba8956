import Glibc

/// A call into the operating system that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The call, by its name in the manual.
  package var call: String
  /// `errno`.
  package var code: Int32

  /// A failure with a known `errno`.
  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  /// The failure that `errno` tells of now.
  static func last(_ call: String) -> SystemError { SystemError(call: call, code: errno) }

  /// The call and the system's text for the code.
  package var description: String {
    guard let text = unsafe strerror(code) else { return "\(call): error \(code)" }
    return unsafe "\(call): \(String(cString: text))"
  }
}
