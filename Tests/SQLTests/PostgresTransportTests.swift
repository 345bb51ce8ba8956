import BramleyTesting
import Foundation
import SQL
import Testing

@Suite("The way to a PostgreSQL server", .serialized, TestPostgres.required)
struct PostgresTransportTests {
  private static let name = "db.bramley.test"

  /// A server on a port of its own; another program may have it.
  private func server(tls: Bool) throws -> (server: TestPostgres, url: String) {
    for _ in 0..<10 {
      let port = TestPorts.deal()
      guard let server = TestPostgres(port: port, tls: tls ? Self.name : nil) else { continue }
      return (server, "postgresql://bramley@\(Self.name):\(port)/postgres?hostaddr=127.0.0.1")
    }
    throw CancellationError()
  }

  /// Whether the connection is encrypted, as the server sees it.
  private func isEncrypted(_ url: String) async throws -> Bool {
    let database = try Database(.postgreSQL(PostgresSettings(url: url)))
    defer { database.close() }
    return try await database.read {
      try await $0.first("select ssl from pg_stat_ssl where pid = pg_backend_pid()") { $0.bool(0) } ?? false
    }
  }

  /// The words with which the connection is refused.
  private func refusal(_ url: String) async throws -> String {
    do {
      _ = try await isEncrypted(url)
      return "none"
    } catch let error as DatabaseError {
      guard case .unavailable(let words) = error else { return "\(error)" }
      return words
    }
  }

  @Test("Another host proves who it is by a certificate: with its authority it does, without it is refused")
  func certificate() async throws {
    let (server, url) = try server(tls: true)
    #expect(try await isEncrypted(url + "&sslrootcert=\(server.authority)"))
    #expect(try await isEncrypted(url + "&sslmode=verify-full&sslrootcert=\(server.authority)"))
    let unknown = try await refusal(url)
    #expect(unknown.contains("certificate verify failed") && unknown.contains("sslrootcert"), "\(unknown)")
    // The right authority, but for another name.
    let other = url.replacingOccurrences(of: Self.name, with: "other.bramley.test")
    let mismatch = try await refusal(other + "&sslrootcert=\(server.authority)")
    #expect(mismatch.contains("does not match host name"), "\(mismatch)")
    let missing = try await refusal(url + "&sslrootcert=/nowhere.pem")
    #expect(missing.contains("/nowhere.pem"), "\(missing)")
    withExtendedLifetime(server) {}
  }

  @Test("A host without TLS is refused, and not asked in the clear, unless the URL says so")
  func plain() async throws {
    let (server, url) = try server(tls: false)
    let refused = try await refusal(url)
    #expect(refused.contains("does not support SSL") && refused.contains("turn TLS on"), "\(refused)")
    #expect(try await refusal(url + "&sslmode=require").contains("does not support SSL"))
    #expect(try await isEncrypted(url + "&sslmode=disable") == false)
    withExtendedLifetime(server) {}
  }

  @Test("A pool of one connection serves all, readers and writers and a lane beside it")
  func smallest() async throws {
    let shared = try #require(TestPostgres.shared)
    var settings = PostgresSettings(url: shared)
    settings.connections = 1
    settings.waitTimeout = 60_000
    let database = try Database(.postgreSQL(settings))
    defer { database.close() }
    let sum = try await withThrowingTaskGroup(of: Int64.self) { group in
      for number in 0..<60 {
        group.addTask {
          let body: @Sendable (Transaction) async throws -> Int64 = {
            try await $0.first("select \(number)::bigint") { $0.int64(0) } ?? 0
          }
          return try await number.isMultiple(of: 2) ? database.read(body) : database.write(body)
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 1_770)
  }
}
