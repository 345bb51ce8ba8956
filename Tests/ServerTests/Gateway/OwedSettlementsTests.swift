import Admission
import HTTPMessages
import SQL
import Stores
import System
import Testing

@testable import Server

/// A ledger that is away until it is told to be there.
private final class AwayLedger: AdmissionLedger {
  struct Away: Error {}

  let isThere = Locked(false)
  let settled = Recorder<[UInt8]>()

  func admit(_ request: AdmissionRequest) async throws -> AdmissionDecision { throw Away() }
  func settle(_ settlement: Settlement) async throws -> Bool {
    guard isThere.withLock({ $0 }) else { throw Away() }
    defer { settled.append(settlement.id) }
    return !settled.values.contains(settlement.id)
  }
  func renew(_ id: [UInt8], for lease: Int64, now: Int64) async throws -> Bool { throw Away() }
  func sweep(now: Int64) async throws -> Int { throw Away() }
  func issueSession(
    _ request: AdmissionRequest, token: SessionToken, atMost: Int
  ) async throws -> AdmissionDecision { throw Away() }
  func forgetUsage(olderThan age: Int64, atMost limit: Int, now: Int64) async throws -> Int { throw Away() }
  func knows(tokenHash: [UInt8], now: Int64) async throws -> Bool { throw Away() }
  func remaining(keyID: [UInt8], charges: [Charge], now: Int64) async throws -> [Remaining] { throw Away() }
}

@Suite("Settlements while the database is away") struct OwedSettlementsTests {
  private func settlement(_ number: UInt8) -> Settlement {
    Settlement(id: [number], outcome: .used(cost: 1), now: 0)
  }

  @Test("they are kept in order, and done when it is back, each once")
  func order() async {
    let ledger = AwayLedger()
    let owed = OwedSettlements(ledger)
    for number in 1...5 { #expect(await owed.add(settlement(UInt8(number)))) }
    #expect(await owed.pay() == 0)
    #expect(await owed.count == 5)
    ledger.isThere.withLock { $0 = true }
    async let first = owed.pay()
    async let second = owed.pay()
    #expect(await first + second == 5)
    #expect(ledger.settled.values.sorted { $0[0] < $1[0] } == [[1], [2], [3], [4], [5]])
    #expect(await owed.count == 0)
    #expect(await owed.pay() == 0)
  }

  @Test("a database that stays away fills no memory")
  func bound() async {
    let owed = OwedSettlements(AwayLedger())
    for _ in 0..<OwedSettlements.capacity { _ = await owed.add(settlement(1)) }
    #expect(await !owed.add(settlement(1)))
    #expect(await owed.count == OwedSettlements.capacity)
  }

  @Test("RULES §5.2: a call that ends while the database is away is booked as it was, once it is back")
  func whole() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let stream = try await phone.ask("[simulate: tokens 5]", stream: true)
    guard case .stream(let body, _) = stream.body.content else { return }
    _ = try await body.next()
    try await server.database.write { try await $0.script("alter table usage rename to gone") }
    while try await body.next() != nil {}
    await server.background.drain()
    #expect(server.lines.values.contains { $0.contains("settlement_delayed") })
    try await server.database.write { try await $0.script("alter table gone rename to usage") }
    for job in server.server.jobs where job.name == "settle_owed" { _ = await job.run() }
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows.first?.estimated == false)
    #expect(server.lines.values.contains { $0.contains("settlements_caught_up") })
  }
}
