import BramleyTesting
import Encodings
import SQL
import Testing

/// The databases that a whole server is tried on.
enum ServerBackend: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite
  case postgreSQL

  /// Those that are here.
  static let allCases: [ServerBackend] = [.sqlite] + (TestPostgres.shared == nil ? [] : [.postgreSQL])

  var testDescription: String { rawValue }

  /// A database of a test's own.
  var location: DatabaseLocation? {
    guard self == .postgreSQL, let url = TestPostgres.shared else { return nil }
    var settings = PostgresSettings(url: url)
    settings.schema = "test_\(Hex.encode((0..<16).map { _ in UInt8.random(in: 0...255) }))"
    settings.connections = 3
    settings.waitTimeout = 60_000
    settings.statementTimeout = 60_000
    return .postgreSQL(settings)
  }
}
