import Encodings
import FoundationEssentials
package import Testing

/// Real artefacts that Apple's devices and servers made. They are no part of the repository: they are read
/// from the folder that `BRAMLEY_FIXTURES` names, else from `../shared/fixtures` beside the package, and
/// tests that need them are skipped where they are absent.
package enum Fixtures {
  /// The folder; nil where there is none.
  package static let root: String? = {
    if let named = ProcessInfo.processInfo.environment["BRAMLEY_FIXTURES"], !named.isEmpty { return named }
    // #filePath is <package root>/Sources/BramleyTesting/Fixtures.swift
    let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let beside = package.dropLast().joined(separator: "/") + "/shared/fixtures"
    return FileManager.default.fileExists(atPath: beside) ? beside : nil
  }()

  /// Skips a test or suite with a plain message where there are none: `@Test("…", Fixtures.required)`.
  package static let required: ConditionTrait = .enabled(
    if: root != nil, "the real artefacts are absent: set BRAMLEY_FIXTURES to their folder to run this")

  /// The octets of a file below the folder; nil when it cannot be read.
  package static func bytes(_ path: String) -> [UInt8]? {
    guard let root, let data = FileManager.default.contents(atPath: "\(root)/\(path)") else { return nil }
    return [UInt8](data)
  }

  /// The text of a file below the folder; nil when it cannot be read.
  package static func text(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The JSON files of a folder below the folder, by name. One that is no JSON stops the tests: what it was
  /// to prove would be silently left out.
  package static func documents(in folder: String) -> [Fixture] {
    guard let root, let names = try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
    else { return [] }
    return names.filter { $0.hasSuffix(".json") }.sorted().map { name in
      guard let json = bytes("\(folder)/\(name)").flatMap({ try? JSONReader.read($0) }) else {
        fatalError("\(folder)/\(name) is no JSON file")
      }
      return Fixture(name: String(name.dropLast(".json".count)), json: json)
    }
  }
}
