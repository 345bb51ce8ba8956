import System

/// Where a command speaks: results on stdout, everything else on stderr.
struct Console: Sendable {
  /// Writes a line of the result.
  func print(_ line: String = "") { write(line + "\n") }

  /// Writes a piece of the result at once, as a stream does.
  func write(_ text: String) { write(Array(text.utf8)) }

  /// Writes a piece of the result at once. A reader that has gone is no reason to fail: the next command of a
  /// pipe has seen enough.
  func write(_ bytes: [UInt8]) { try? Files.writeAll(bytes, to: 1) }

  /// Says what a step that may take over a second is about, before it begins.
  func progress(_ line: String) { note(line) }

  /// Writes a line for the person at the terminal.
  func note(_ line: String) { try? Files.writeAll(Array((line + "\n").utf8), to: 2) }

  /// Writes an error as one line.
  func fail(_ message: String) {
    let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    note("bramley: \(line)")
  }
}
