import CPostgres
import Glibc
import System

/// How to reach a PostgreSQL server, and what to put up with from it.
package struct PostgresSettings: Sendable, Equatable {
  /// `postgresql://…`, as libpq reads it. May hold a password: never shown.
  package var url: String
  /// Every table is in it; `search_path` leads there.
  package var schema = "auth"
  /// Connections that run transactions; every lane has one more of its own.
  package var connections = 8
  /// The longest wait for a connection to be made, milliseconds.
  package var connectTimeout: Int32 = 5_000
  /// The longest that a statement may run, milliseconds; a lock is waited for half as long.
  package var statementTimeout: Int32 = 10_000
  /// The longest that a job waits for one of the connections, milliseconds.
  package var waitTimeout: Int64 = 5_000
  /// The most jobs of a lane that share a commit.
  package var batchLimit = 512

  package init(url: String) { self.url = url }

  /// Whether libpq can read the URL; what it says of one that it cannot may quote the password.
  package var isWellFormed: Bool {
    (try? keywords()) != nil && (url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"))
  }

  /// The URL without what is secret in it, for the operator.
  package var place: String {
    guard let keywords = try? keywords() else { return "postgresql" }
    func value(_ name: String) -> String? { keywords.first { $0.0 == name }?.1 }
    return "postgresql://\(value("host") ?? "local")/\(value("dbname") ?? "")"
  }

  /// libpq's keywords and values, with our defaults for what the URL leaves open.
  ///
  /// - Parameter environment: in which libpq looks for the host that a URL does not name.
  func keywords(
    environment: [String: String] = CurrentProcess.environment
  ) throws(DatabaseError) -> [(String, String)] {
    var found: [(String, String)] = []
    guard let options = unsafe PQconninfoParse(url, nil) else {
      throw .cannotOpen(path: "postgresql", reason: "the URL cannot be read")
    }
    defer { unsafe PQconninfoFree(options) }
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        found.append((unsafe String(cString: keyword), unsafe String(cString: value)))
      }
      unsafe option += 1
    }
    func has(_ name: String) -> Bool { found.contains { $0.0 == name } }
    if !isLocal(found, environment) {
      // Another host: who it is must be proven, or the password and every row go to whoever answers.
      if !has("sslmode") { found.append(("sslmode", "verify-full")) }
      if !has("sslrootcert"), found.contains(where: { $0 == ("sslmode", "verify-full") }) {
        found.append(("sslrootcert", "/etc/ssl/certs/ca-certificates.crt"))
      }
    }
    if !has("application_name") { found.append(("application_name", "bramley")) }
    if !has("client_encoding") { found.append(("client_encoding", "UTF8")) }
    // A peer that is gone without a word is noticed within half a minute.
    if !has("keepalives_idle") { found.append(("keepalives_idle", "10")) }
    if !has("keepalives_interval") { found.append(("keepalives_interval", "5")) }
    if !has("keepalives_count") { found.append(("keepalives_count", "3")) }
    if !has("tcp_user_timeout") { found.append(("tcp_user_timeout", "20000")) }
    return found
  }

  /// Whether it is this machine, as far as that is known: a service's file (`service`) names a host that we do not see.
  private func isLocal(_ keywords: [(String, String)], _ environment: [String: String]) -> Bool {
    func named(_ names: [String: String]) -> [Substring] {
      ["host", "hostaddr"].compactMap { names[$0] }.flatMap { $0.split(separator: ",") }
    }
    let given = Dictionary(keywords.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
    let inherited = [
      "host": environment["PGHOST"], "hostaddr": environment["PGHOSTADDR"],
      "service": environment["PGSERVICE"],
    ].compactMapValues { $0 }
    let found = inherited.merging(given) { $1 }
    let hosts = named(found)
    if hosts.isEmpty, found["service"] != nil { return false }
    return hosts.allSatisfy {
      $0.hasPrefix("/") || $0.hasPrefix("@") || $0 == "localhost" || $0 == "127.0.0.1" || $0 == "::1"
    }
  }

  /// What every new connection is told first.
  var greeting: String {
    """
    set search_path = "\(schema.filter { $0 != "\"" })"; set statement_timeout = \(statementTimeout); \
    set lock_timeout = \(statementTimeout / 2); set idle_in_transaction_session_timeout = \(statementTimeout); \
    set bytea_output = 'hex'; set timezone = 'UTC'
    """
  }
}
