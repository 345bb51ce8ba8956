import Admission
import AppAttest
import BramleyTesting
import Foundation
import Gateway
import SQL
import Stores
import Testing

/// The databases that every contract is held against.
enum Backend: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case disk
  case postgreSQL

  /// Those that are here.
  static let allCases: [Backend] = [.memory, .disk] + (TestPostgres.shared == nil ? [] : [.postgreSQL])

  var testDescription: String { rawValue }
}

/// A database with the stores on it, gone after the test.
final class StoreFixture: Sendable {
  static let epoch: Int64 = 1_800_000_000
  static let anchor = [UInt8](repeating: 9, count: 32)
  static let appID = "ABCDE12345.com.example.app"

  let database: Database
  let keys: SQLDeviceKeyStore
  let ledger: SQLAdmissionLedger
  let debugTokens: SQLDebugTokenStore
  let usage: SQLUsageReport
  let path: String
  /// The tables' schema on PostgreSQL; empty on SQLite.
  let schema: String
  private let directory: URL

  init(_ backend: Backend, tuning: DatabaseTuning = DatabaseTuning()) async throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "bramley-stores-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appending(path: "bramley.db").path
    let location = try Self.location(backend, path)
    schema = if case .postgreSQL(let settings) = location { settings.schema } else { "" }
    database = try Database(location, tuning: tuning)
    try await Schema.migrate(database, now: Self.epoch)
    keys = SQLDeviceKeyStore(database)
    ledger = SQLAdmissionLedger(database, clock: .caller)
    debugTokens = SQLDebugTokenStore(database)
    usage = SQLUsageReport(database)
  }

  deinit {
    database.close()
    try? FileManager.default.removeItem(at: directory)
  }

  private static func location(_ backend: Backend, _ path: String) throws -> DatabaseLocation {
    switch backend {
    case .memory: return .memory
    case .disk: return .file(path)
    case .postgreSQL:
      return .postgreSQL(postgres(try #require(TestPostgres.shared)))
    }
  }

  /// A schema of its own on that server.
  static func postgres(_ url: String) -> PostgresSettings {
    var settings = PostgresSettings(url: url)
    settings.schema = "test_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    settings.connections = 3
    settings.waitTimeout = 60_000
    settings.statementTimeout = 60_000
    return settings
  }

  static func keyID(_ number: Int) -> [UInt8] { octets(number, 32) }

  /// So many octets that tell the number.
  static func octets(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
      + [UInt8](repeating: 0x5a, count: count - 8)
  }

  static func key(_ number: Int) -> DeviceKey {
    DeviceKey(
      keyID: keyID(number), publicKey: [4] + octets(number, 64), appID: appID, environment: .production,
      anchor: anchor, registeredAt: epoch, facts: DeviceFacts(osVersion: "26.3", validationCategory: 3))
  }

  @discardableResult func register(_ number: Int) async throws -> RegistrationOutcome {
    try await keys.register(
      Self.key(number), receipt: [1, 2, 3], challenge: Self.octets(number + 1_000_000, 16),
      challengeExpiry: Self.epoch + 300)
  }

  func registerMany(_ count: Int) async throws {
    try await withThrowingTaskGroup { group in
      for number in 0..<count { group.addTask { _ = try await self.register(number) } }
      try await group.waitForAll()
    }
  }

  /// What is left of the ledger's rows: (used, held) summed over a rule.
  func sums(_ rule: String) async throws -> (used: Int64, held: Int64) {
    try await database.read { transaction in
      try await transaction.first(
        """
        select coalesce(sum(used), 0), coalesce(sum(held), 0) from lines l join rules r on r.id = l.rule
        where r.name = $1
        """, [.text(rule)]
      ) { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
    }
  }

  func openReservations() async throws -> Int64? {
    try await database.read { try await $0.first("select count(*) from reservations") { $0.int64(0) } }
  }
}

/// Makes requests as the server would.
enum Requests {
  static let now: Int64 = StoreFixture.epoch * 1_000
  static let day = Window(id: "2027-01-15", start: now - 1_000_000, end: now + 80_000_000)
  static let month = Window(id: "2027-01", start: now - 900_000_000, end: now + 1_500_000_000)

  static func assertion(
    _ key: Int, counter: UInt32, id: Int, charges: [Charge] = [], now: Int64 = now,
    lease: Int64? = 60_000,
    challenge: ConsumedChallenge? = nil, width: Int = 128
  ) -> AdmissionRequest {
    make(
      .assertion(keyID: StoreFixture.keyID(key), counter: counter, challenge: challenge), id: id,
      charges: charges, now: now, lease: lease, width: width)
  }

  static func make(
    _ evidence: AdmissionRequest.Evidence, id: Int, charges: [Charge] = [], now: Int64 = now,
    lease: Int64? = 60_000, width: Int = 128
  ) -> AdmissionRequest {
    AdmissionRequest(
      id: identifier(id), evidence: evidence,
      expectation: KeyExpectation(
        apps: ["production/\(StoreFixture.appID)"], anchors: [StoreFixture.anchor]),
      counterWindow: width, now: now, charges: charges, lease: lease, address: "192.0.2.1")
  }

  static func identifier(_ id: Int) -> [UInt8] { StoreFixture.octets(id, 16) }

  static func daily(_ limit: Int64, _ subject: Subject = .key, window: Window = day) -> Charge {
    Charge(subject: subject, rule: "daily", amount: 1, limit: .window(window, limit: limit, unit: .requests))
  }

  static func money(_ amount: Int64, of limit: Int64, _ subject: Subject = .key) -> Charge {
    Charge(
      subject: subject, rule: "budget", amount: amount, limit: .window(month, limit: limit, unit: .money))
  }

  static func running(_ limit: Int64) -> Charge {
    Charge(subject: .key, rule: "running", amount: 1, limit: .inFlight(limit))
  }

  static func burst(every interval: Int64, _ burst: Int64) -> Charge {
    Charge(subject: .key, rule: "burst", amount: 1, limit: .burst(interval: interval, burst: burst))
  }
}

extension AdmissionDecision {
  var isAdmitted: Bool { if case .admitted = self { true } else { false } }
  var refusal: AdmissionRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}
