import System

/// Where a command speaks: results on stdout, everything else on stderr.
struct Console: Sendable {
  private let output: @Sendable ([UInt8]) -> Void
  private let errors: @Sendable ([UInt8]) -> Void

  /// The process's own streams. A reader that has gone is no reason to fail: the next command of a pipe has
  /// seen enough.
  init() {
    output = { try? Files.writeAll($0, to: 1) }
    errors = { try? Files.writeAll($0, to: 2) }
  }

  /// Somewhere else.
  init(output: @escaping @Sendable ([UInt8]) -> Void, errors: @escaping @Sendable ([UInt8]) -> Void) {
    self.output = output
    self.errors = errors
  }

  /// Writes a line of the result.
  func print(_ line: String = "") { write(line + "\n") }

  /// Writes a piece of the result at once, as a stream does.
  func write(_ text: String) { output(Array(text.utf8)) }

  /// Writes a line for the person at the terminal: what a step that takes a while is about, or a hint.
  func note(_ line: String) { errors(Array((line + "\n").utf8)) }

  /// Writes an error as one line.
  func fail(_ message: String) {
    let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    note("bramley: \(line)")
  }
}

extension String {
  /// With blanks at its end, one at least, for columns.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
