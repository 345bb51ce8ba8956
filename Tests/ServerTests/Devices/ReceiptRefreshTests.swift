import AppAttest
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing

@testable import Server

@Suite("Refreshing receipts") struct ReceiptRefreshTests {
  static let day: Int64 = 86_400

  @Test("RULES §1.10: a first receipt is exchanged within a minute, and the metric is kept with the key")
  func first() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    let offloaded = server.whole.offloaded.count.load(ordering: .relaxed)
    #expect(try await server.metric(phone) == nil)
    // The job runs every 15 seconds.
    server.clock.advance(seconds: 15)
    #expect(try await server.refresh())
    #expect(try await server.metric(phone) == 1)
    #expect(server.outcomes == ["refreshed": 1])
    // It is verified away from the loop that serves requests, as an attestation is.
    #expect(offloaded == 1 && server.whole.offloaded.count.load(ordering: .relaxed) == 2)
    let request = try #require(server.asked.first)
    #expect(request.target == "/receipts/production/v1/attestationData")
    #expect(request.fields["authorization"]?.split(separator: ".").count == 3)
    #expect(try await server.refresh())
    #expect(server.asked.count == 1)
  }

  @Test("A used key's receipt is refreshed after its days, a week by default; an unused one's is not")
  func refreshed() async throws {
    let server = try await DeviceServer()
    let (used, unused) = (try await server.whole.phone(), try await server.whole.phone())
    try await server.refresh()
    #expect(try await server.wait(used).map { (7 * Self.day...8 * Self.day).contains($0) } == true)
    await server.whole.devices.setRisk(9, of: used.device.deviceID)
    for _ in 0..<20 {
      server.clock.advance(seconds: Self.day)
      _ = try await used.ask()
      try await server.refresh()
    }
    #expect(try await server.metric(used) == 9)
    #expect(try await server.metric(unused) == 1)
    #expect(
      try await server.column("r.fetched_at", used).map { server.clock.seconds - $0 < 8 * Self.day } == true)
    // Neither was asked for more often than its days allow: the first time, and twice or thrice since.
    #expect((4...7).contains(server.asked.count))
    #expect(server.outcomes.keys.sorted() == ["refreshed"])
  }

  @Test("The order is the day, at most: with refresh_days 1 Apple never says that it is too early")
  func daily() async throws {
    let server = try await DeviceServer { $0.attest.receipts.refreshDays = 1 }
    let phone = try await server.whole.phone()
    for _ in 0..<(5 * 24) {
      try await server.refresh()
      server.clock.advance(seconds: 3_600)
    }
    #expect(server.outcomes.keys.sorted() == ["refreshed"])
    #expect((4...6).contains(server.outcomes["refreshed"] ?? 0))
    #expect(try await server.metric(phone) == 1)
  }

  @Test("RULES §1.10: a revoked and a banned key are not asked about")
  func ended() async throws {
    let server = try await DeviceServer()
    let (revoked, banned) = (try await server.whole.phone(), try await server.whole.phone())
    _ = try await server.whole.keys.revoke(revoked.key)
    _ = try await server.whole.keys.setBanned(true, banned.key)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    #expect(try await server.wait(revoked) == nil)
    #expect(try await server.wait(banned) == Self.day)
  }

  @Test("A key that is revoked while Apple is asked stays revoked, and is not asked about again")
  func revokedMeanwhile() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    let store = server.store
    let demand = ReceiptDemand(
      now: server.clock.seconds, retryAt: server.clock.seconds + 120, activeSince: 0, idleUntil: .max,
      limit: 1)
    let stored = try #require(try await store.due(demand).first)
    _ = try await server.whole.keys.revoke(phone.key)
    _ = try await store.keep(
      RefreshedReceipt(bytes: [1], riskMetric: 4, nextRefresh: server.clock.seconds + 5), for: stored,
      now: server.clock.seconds)
    server.clock.advance(seconds: 600)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    #expect(try await server.wait(phone) == nil)
  }

  @Test("Clocks that jump: ahead, nothing is lost; back, everything is due again")
  func clocks() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    try await server.refresh()
    server.clock.advance(seconds: 2 * 365 * Self.day)
    _ = try await phone.ask()
    try await server.refresh()
    server.clock.advance(seconds: -2 * 365 * Self.day)
    await server.whole.devices.setRisk(5, of: phone.device.deviceID)
    for _ in 0..<12 {
      server.clock.advance(seconds: Self.day)
      _ = try await phone.ask()
      try await server.refresh()
    }
    #expect(try await phone.ask().status == 200)
    #expect(server.alarms == 0)
  }

  @Test("Killed between Apple's answer and the store: the old receipt is sent again, and no key is lost")
  func killed() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    // Another process took it, was answered, and died.
    let now = server.clock.seconds
    let due = try await server.store.due(
      ReceiptDemand(now: now, retryAt: now + 120, activeSince: 0, idleUntil: now + Self.day, limit: 10))
    #expect(due.count == 1)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    server.clock.advance(seconds: 120)
    try await server.refresh()
    #expect(try await server.metric(phone) == 1)
  }

  @Test("Two nodes on one database: every receipt is exchanged once")
  func nodes() async throws {
    let server = try await DeviceServer()
    var phones: [Phone] = []
    for _ in 0..<40 { phones.append(try await server.whole.phone()) }
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 { group.addTask { _ = try await server.refresh() } }
      try await group.waitForAll()
    }
    #expect(server.asked.count == 40)
    #expect(server.outcomes == ["refreshed": 40])
    for phone in phones { #expect(try await server.metric(phone) == 1) }
  }

  @Test("Without a key of Apple's nothing is asked, and no job is there")
  func unconfigured() async throws {
    let server = try await WholeServer()
    _ = try await server.phone()
    #expect(!server.server.jobs.contains { $0.name == "refresh_receipts" })
    #expect(server.deviceRequests.values.isEmpty)
  }
}
