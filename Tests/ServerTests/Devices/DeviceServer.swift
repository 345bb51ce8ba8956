import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// A whole server that asks Apple about devices.
struct DeviceServer {
  let whole: WholeServer
  let store: SQLReceiptStore

  init(
    _ change: (inout Configuration) -> Void = { _ in },
    apple: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil
  ) async throws {
    // The team's key is the simulated Apple's, which exists only with the server.
    let key = try SimulatedTeamKey(team: "TEAM123456")
    whole = try await WholeServer(
      { configuration in
        configuration.attest.appleKey = .init(
          teamID: key.teamID, keyID: key.keyID, privateKey: Secret(key.p8))
        change(&configuration)
      }, devices: apple, teamKey: key)
    store = SQLReceiptStore(whole.database)
  }

  var clock: FixedClock { whole.clock }
  var asked: [HTTPRequest] { whole.deviceRequests.values }

  /// Runs the job that refreshes receipts.
  @discardableResult func refresh() async throws -> Bool {
    let job = try #require(whole.server.jobs.first { $0.name == "refresh_receipts" })
    return await job.run() == .done
  }

  /// A column of the key's rows.
  func column(_ sql: String, _ phone: Phone) async throws -> Int64? {
    try await whole.database.read {
      try await $0.first(
        """
        select \(sql) from device_keys k join device_receipts r on r.device = k.id where k.key_id = $1
        """, [.blob(phone.key)]
      ) { $0.optionalInt64(0) } ?? nil
    }
  }

  func metric(_ phone: Phone) async throws -> Int64? { try await column("k.risk_metric", phone) }

  /// In how many seconds its receipt is asked for again; nil for never.
  func wait(_ phone: Phone) async throws -> Int64? {
    try await column("r.next_refresh", phone).map { $0 - clock.seconds }
  }

  func receipt(_ phone: Phone) async throws -> [UInt8] {
    try await whole.database.read {
      try await $0.first(
        """
        select r.receipt from device_keys k join device_receipts r on r.device = k.id where k.key_id = $1
        """, [.blob(phone.key)]
      ) { $0.bytes(0) } ?? []
    }
  }

  func counts(_ family: CounterFamily) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: family.samples.filter { $0.1 > 0 })
  }

  var outcomes: [String: Int] { counts(whole.server.metrics.receipts) }
  var alarms: Int { whole.server.metrics.alarms[Metrics.Alarm.appleConfiguration].value }
}
