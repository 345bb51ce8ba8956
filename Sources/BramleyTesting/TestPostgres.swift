import Foundation
import System
package import Testing

/// A PostgreSQL server for tests. `BRAMLEY_TEST_POSTGRES` names one by its URL (a database that tests may fill);
/// else one is started by scripts/test-postgres, as another user than root, and ends with this process.
package final class TestPostgres: Sendable {
  /// The server that most tests share; nil where PostgreSQL is not installed.
  package static let shared: String? = {
    if let named = ProcessInfo.processInfo.environment["BRAMLEY_TEST_POSTGRES"], !named.isEmpty {
      return named
    }
    return own?.url
  }()

  private static let own = TestPostgres()

  /// Skips a test with a plain message where there is none.
  package static let required: ConditionTrait = .enabled(
    if: shared != nil,
    "PostgreSQL is not installed here: apt-get install postgresql, or BRAMLEY_TEST_POSTGRES")

  /// How libpq reaches it.
  package let url: String
  private let process: ChildProcess

  /// Starts a server of its own, for tests that stop it; nil where PostgreSQL is not installed.
  ///
  /// - Parameters:
  ///   - port: has it listen there on 127.0.0.1 as well.
  ///   - tls: gives it a certificate for that name, by an authority whose certificate is ``authority``.
  package init?(port: Int? = nil, tls name: String? = nil) {
    // #filePath is <package root>/Sources/BramleyTesting/TestPostgres.swift
    let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let environment = ProcessInfo.processInfo.environment.merging(
      [("TCP", port.map(String.init)), ("TLS", name)].compactMap { key, value in value.map { (key, $0) } }
    ) { $1 }
    let script = package.joined(separator: "/") + "/scripts/test-postgres"
    guard let process = try? ChildProcess(script, environment: environment),
      let line = process.line(), line.hasPrefix("postgresql:")
    else { return nil }
    self.process = process
    url = line
  }

  /// Path of the certificate of the authority that signed the server's.
  package var authority: String {
    let directory =
      url.split(separator: "?").last?.split(separator: "&").first?.dropFirst("host=".count) ?? ""
    return directory + "/authority.pem"
  }

  /// `stop`, `start`, `restart` or `crash`; returns when that is done.
  package func tell(_ command: String) {
    try? process.write(command + "\n")
    _ = process.line()
  }
}
