import Foundation
import System
import Testing

@testable import bramley

/// A run of the program inside the test: its exit code and what it wrote.
struct CommandRun {
  let code: ExitCode
  let output: String
  let errors: String

  init(_ arguments: String...) async { await self.init(arguments) }

  init(_ arguments: [String]) async {
    let output = Locked<[UInt8]>([])
    let errors = Locked<[UInt8]>([])
    let console = Console(
      output: { bytes in output.withLock { $0 += bytes } },
      errors: { bytes in errors.withLock { $0 += bytes } })
    code = await Entry.run(arguments, console)
    self.output = String(decoding: output.withLock { $0 }, as: UTF8.self)
    self.errors = String(decoding: errors.withLock { $0 }, as: UTF8.self)
  }
}

/// A directory that is gone after the test.
final class TemporaryDirectory {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)").path
    try Files.createDirectory(path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file into it; its path.
  func write(_ bytes: [UInt8], _ name: String) throws -> String {
    let file = "\(path)/\(name)"
    try Files.write(bytes, to: file)
    return file
  }
}
