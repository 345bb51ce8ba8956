import Admission
import AppAttest
import Gateway
import SQL
import Stores
import Testing

@Suite("Admission on a database") struct AdmissionContractTests {
  @Test(
    "RULES §1.5: 100 parallel requests of one key all pass in any order, and no replay of any does",
    arguments: Backend.allCases)
  func parallel(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let charges = [
      Requests.running(100), Requests.burst(every: 1, 100), Requests.daily(100), Requests.money(5, of: 500),
    ]
    let decisions = try await admitAll(fixture, Array(1...100).shuffled(), charges: charges)
    #expect(decisions.allSatisfy { $0.isAdmitted })
    let replays = try await admitAll(fixture, Array(1...100).shuffled(), charges: [], from: 1_000)
    #expect(replays.allSatisfy { $0.refusal == .counterReplayed })
    #expect(try await fixture.sums("daily") == (100, 0))
    #expect(try await fixture.sums("budget") == (0, 500))
    #expect(try await fixture.sums("running") == (0, 100))
  }

  @Test("RULES §1.5: a replay fails also after a quota refusal", arguments: Backend.allCases)
  func refusedConsumes(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let decisions = try await admitAll(fixture, Array(1...60).shuffled(), charges: [Requests.daily(10)])
    #expect(decisions.count { $0.isAdmitted } == 10)
    #expect(try await fixture.sums("daily") == (10, 0))
    let replays = try await admitAll(fixture, Array(1...60), charges: [], from: 1_000)
    #expect(replays.allSatisfy { $0.refusal == .counterReplayed })
  }

  @Test("The same assertion sent many times at once is admitted once", arguments: Backend.allCases)
  func sameCounter(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let decisions = try await admitAll(fixture, Array(repeating: 7, count: 80), charges: [])
    #expect(decisions.count { $0.isAdmitted } == 1)
  }

  @Test("RULES §5.1: every subject's limit binds, and a refusal counts for none", arguments: Backend.allCases)
  func allSubjects(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(3)
    let charges = [
      Requests.daily(2, .key), Requests.daily(5, .app), Requests.daily(100, .address("192.0.2.1")),
      Requests.daily(100, .everyone), Requests.daily(0, .user),
    ]
    var admitted = 0
    for round in 1...3 {
      for key in 0..<3 {
        let request = Requests.assertion(key, counter: UInt32(round), id: round * 10 + key, charges: charges)
        admitted += try await fixture.ledger.admit(request).isAdmitted ? 1 : 0
      }
    }
    // Without a user the user's line does not apply; the app's 5 bind before the keys' 6.
    #expect(admitted == 5)
    #expect(try await fixture.sums("daily") == (20, 0))
  }

  @Test("A key's current user is counted", arguments: Backend.allCases)
  func user(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(2)
    try await fixture.database.write { _ = try await $0.execute("update device_states set user_id = 'u1'") }
    let charges = [Requests.daily(1, .user)]
    let first = try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 1, charges: charges))
    guard case .admitted(let admitted) = first else { Issue.record("\(first)"); return }
    #expect(admitted.userID == "u1")
    #expect(admitted.remaining.map(\.remaining) == [0])
    let second = try await fixture.ledger.admit(Requests.assertion(1, counter: 1, id: 2, charges: charges))
    guard case .refused(.exhausted(let left)) = second else {
      Issue.record("\(second)"); return
    }
    #expect(left.remaining == 0 && left.limit == 1 && left.resetsAt == Requests.day.end)
  }

  @Test(
    "RULES §1.6: a key that today's configuration does not accept is refused", arguments: Backend.allCases)
  func notAccepted(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    var request = Requests.assertion(0, counter: 1, id: 1)
    request.expectation.apps = ["development/\(StoreFixture.appID)"]
    #expect(try await fixture.ledger.admit(request).refusal == .keyNotAccepted)
    request = Requests.assertion(0, counter: 2, id: 2)
    request.expectation.anchors = [StoreFixture.octets(1, 32)]
    #expect(try await fixture.ledger.admit(request).refusal == .keyNotAccepted)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 3, id: 3)).isAdmitted)
    #expect(try await fixture.ledger.admit(Requests.assertion(5, counter: 1, id: 4)).refusal == .unknownKey)
  }

  @Test("A challenge with a row is consumed once, whatever refuses", arguments: Backend.allCases)
  func challenge(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let challenge = ConsumedChallenge.row(
      random: StoreFixture.octets(5, 16), expiry: StoreFixture.epoch + 300)
    let refused = Requests.assertion(0, counter: 1, id: 1, charges: [Requests.daily(0)], challenge: challenge)
    guard case .refused(.exhausted) = try await fixture.ledger.admit(refused) else { Issue.record(); return }
    let again = Requests.assertion(0, counter: 2, id: 2, challenge: challenge)
    #expect(try await fixture.ledger.admit(again).refusal == .challengeUsed)
  }

  @Test("RULES §5.6: a clock that goes back does not shut a subject out", arguments: Backend.allCases)
  func clockBack(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let charges = [Requests.burst(every: 1_000_000_000, 2)]
    let future = Requests.now + 86_400_000
    func admit(_ counter: UInt32, at now: Int64) async throws -> AdmissionDecision {
      try await fixture.ledger.admit(
        Requests.assertion(0, counter: counter, id: Int(counter), charges: charges, now: now))
    }
    #expect(try await admit(1, at: future).isAdmitted)
    #expect(try await admit(2, at: future).isAdmitted)
    #expect(try await admit(3, at: future).refusal == .burst(rule: "burst", retryAt: future + 1_000))
    let refusal = try await admit(4, at: Requests.now).refusal
    guard case .burst(_, let retryAt) = refusal else {
      Issue.record("\(String(describing: refusal))"); return
    }
    #expect(retryAt <= Requests.now + 2_000)
    #expect(try await admit(5, at: retryAt).isAdmitted)
  }

  @Test("RULES §5.6: a change of zone acts at the old window's end", arguments: Backend.allCases)
  func zoneChange(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    var other = Requests.day
    other.id = "2027-01-16"
    other.start = Requests.now - 500
    other.end = Requests.now + 86_399_500
    func left(_ counter: UInt32, _ window: Window, at now: Int64) async throws -> Remaining? {
      let request = Requests.assertion(
        0, counter: counter, id: Int(counter), charges: [Requests.daily(3, window: window)], now: now)
      guard case .admitted(let admitted) = try await fixture.ledger.admit(request) else { return nil }
      return admitted.remaining.first
    }
    let first = try await left(1, Requests.day, at: Requests.now)
    #expect(first?.remaining == 2)
    let second = try await left(2, other, at: Requests.now)
    #expect(second?.remaining == 1)
    #expect(second?.resetsAt == Requests.day.end)
    let third = try await left(3, other, at: Requests.day.end)
    #expect(third?.remaining == 2)
    #expect(third?.windowStart == Requests.day.end)
    #expect(third?.resetsAt == other.end)
  }

  @Test("Another process's revocation acts at once")
  func otherProcess() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.register(0)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 1)).isAdmitted)
    let other = try Database(.file(fixture.path))
    #expect(try await SQLDeviceKeyStore(other).revoke(StoreFixture.keyID(0)))
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 2, id: 2)).refusal == .unknownKey)
  }

  @Test("Two processes on one file never over-admit nor accept a counter twice")
  func twoProcesses() async throws {
    let fixture = try await StoreFixture(.disk)
    try await fixture.register(0)
    let other = SQLAdmissionLedger(try Database(.file(fixture.path)))
    let charges = [Requests.daily(70), Requests.running(1_000)]
    let admitted = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
      for counter in 1...100 {
        for (offset, ledger) in [fixture.ledger, other].enumerated() {
          group.addTask {
            let request = Requests.assertion(
              0, counter: UInt32(counter), id: counter * 2 + offset, charges: charges)
            return (counter, try await ledger.admit(request).isAdmitted)
          }
        }
      }
      return try await group.reduce(into: [Int]()) { if $1.1 { $0.append($1.0) } }
    }
    #expect(admitted.count == Set(admitted).count)
    #expect(admitted.count == 70)
    #expect(try await fixture.sums("daily") == (70, 0))
  }

  private func admitAll(
    _ fixture: StoreFixture, _ counters: [Int], charges: [Charge], from id: Int = 0
  ) async throws -> [AdmissionDecision] {
    try await withThrowingTaskGroup(of: AdmissionDecision.self) { group in
      for (index, counter) in counters.enumerated() {
        group.addTask {
          try await fixture.ledger.admit(
            Requests.assertion(0, counter: UInt32(counter), id: id + index, charges: charges))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}
