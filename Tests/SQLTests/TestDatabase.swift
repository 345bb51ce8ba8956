import BramleyTesting
import Foundation
import SQL
import System
import Testing

/// Where a test's database lives: every contract runs on all that are here.
enum Place: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case disk
  case postgreSQL

  /// Those that are here.
  static let allCases: [Place] = [.memory, .disk] + (TestPostgres.shared == nil ? [] : [.postgreSQL])

  var testDescription: String { rawValue }
}

/// A database in a place of its own, gone after the test.
final class TestDatabase: Sendable {
  let database: Database
  let path: String
  /// PostgreSQL's; empty elsewhere.
  let schema: String
  private let directory: URL

  /// - Parameter loops: PostgreSQL's; nil for one of its own.
  init(
    _ place: Place, tuning: DatabaseTuning = DatabaseTuning(), statementTimeout: Int32 = 60_000,
    loops: EventLoopGroup? = nil
  ) async throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "bramley-sql-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appending(path: "test.db").path
    guard place == .postgreSQL else {
      schema = ""
      database = try Database(place == .memory ? .memory : .file(path), tuning: tuning)
      return
    }
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.schema = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    settings.connections = 3
    settings.waitTimeout = 60_000
    settings.statementTimeout = statementTimeout
    database = try Database(.postgreSQL(settings), loops: loops)
    let schema = settings.schema
    self.schema = schema
    try await database.write { try await $0.script("create schema \(schema)") }
  }

  deinit {
    database.close()
    try? FileManager.default.removeItem(at: directory)
  }
}

/// A decider of the engine that a test has not.
final class NoDecider<Job: Sendable, Answer: Sendable>: BatchDecider, SharedBatchDecider {
  func decide(_ jobs: [Job], in transaction: SQLiteTransaction, othersWrote: Bool) throws -> [Answer] { [] }
  func decide(_ jobs: [Job], in transaction: Transaction, attempt: Int) async throws -> [Answer] { [] }
}
