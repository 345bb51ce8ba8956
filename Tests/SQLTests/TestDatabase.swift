import Foundation
import SQL
import Testing

/// Where a test's database lives: every contract runs on both.
enum Place: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case disk

  var testDescription: String { rawValue }
}

/// A database in a place of its own, gone after the test.
final class TestDatabase: Sendable {
  let database: Database
  let path: String
  private let directory: URL

  init(_ place: Place, tuning: DatabaseTuning = DatabaseTuning()) throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "bramley-sql-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appending(path: "test.db").path
    database = try Database(place == .memory ? .memory : .file(path), tuning: tuning)
  }

  deinit {
    database.close()
    try? FileManager.default.removeItem(at: directory)
  }
}
