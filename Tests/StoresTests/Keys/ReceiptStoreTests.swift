import Admission
import AppAttest
import SQL
import Stores
import Testing

@Suite("Receipt store") struct ReceiptStoreTests {
  static let day: Int64 = 86_400
  static let epoch = StoreFixture.epoch

  /// A database with so many keys, registered at the epoch.
  private func fixture(_ backend: Backend, keys: Int) async throws -> (StoreFixture, SQLReceiptStore) {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(keys)
    return (fixture, SQLReceiptStore(fixture.database))
  }

  private func demand(_ now: Int64, limit: Int = 100, activeFor: Int64 = 14 * day) -> ReceiptDemand {
    ReceiptDemand(
      now: now, retryAt: now + 600, activeSince: now - activeFor, idleUntil: now + Self.day, limit: limit)
  }

  private func refreshed(
    _ bytes: [UInt8] = [7, 7], metric: Int64? = 3, next: Int64? = epoch + day
  ) -> RefreshedReceipt {
    RefreshedReceipt(bytes: bytes, riskMetric: metric, nextRefresh: next)
  }

  private func column<Value: Sendable>(
    _ fixture: StoreFixture, _ sql: String, _ key: Int, _ read: @escaping @Sendable (Row) -> Value
  ) async throws -> Value? {
    try await fixture.database.read {
      try await $0.first(
        """
        select \(sql) from device_keys k join device_receipts r on r.device = k.id
          join device_states s on s.device = k.id where k.key_id = $1
        """, [.blob(StoreFixture.keyID(key))], read)
    }
  }

  private func metric(_ fixture: StoreFixture, _ key: Int) async throws -> Int64? {
    try await column(fixture, "k.risk_metric", key) { $0.optionalInt64(0) } ?? nil
  }

  @Test(
    "RULES §1.10: a new key's receipt is due at once, with all that its exchange needs",
    arguments: Backend.allCases)
  func newcomer(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    #expect(try await store.due(demand(Self.epoch - 1)).isEmpty)
    let due = try await store.due(demand(Self.epoch))
    #expect(due.count == 1)
    var key = StoreFixture.key(0)
    key.facts = DeviceFacts()
    #expect(due.first?.key == key)
    #expect(due.first?.receipt == [1, 2, 3])
    #expect(due.first?.fetchedAt == nil)
    #expect(due.first?.failures == 0)
  }

  @Test("What is handed out is handed out once, and again if nobody came back", arguments: Backend.allCases)
  func once(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 3)
    defer { withExtendedLifetime(fixture) {} }
    #expect(try await store.due(demand(Self.epoch)).count == 3)
    #expect(try await store.due(demand(Self.epoch + 599)).isEmpty)
    #expect(try await store.due(demand(Self.epoch + 600)).count == 3)
  }

  @Test("Nodes that ask at once share what is due, and no receipt goes to two", arguments: Backend.allCases)
  func nodes(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 60)
    defer { withExtendedLifetime(fixture) {} }
    let taken = try await withThrowingTaskGroup(of: [StoredReceipt].self) { group in
      for _ in 0..<12 { group.addTask { try await store.due(demand(Self.epoch, limit: 10)) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(taken.map(\.id)).count == taken.count)
    let rest = try await store.due(demand(Self.epoch))
    #expect(taken.count + rest.count == 60)
  }

  @Test(
    "A new receipt takes the old one's place, and the metric reaches admission", arguments: Backend.allCases)
  func keep(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 2)
    defer { withExtendedLifetime(fixture) {} }
    let due = try await store.due(demand(Self.epoch))
    let first = try #require(due.first { $0.key.keyID == StoreFixture.keyID(0) })
    try await store.putOff(first, to: Self.epoch + 30, failures: 1)
    #expect(try await column(fixture, "r.failures", 0) { $0.int64(0) } == 1)
    #expect(try await store.keep(refreshed(), for: first, now: Self.epoch + 40))
    #expect(try await metric(fixture, 0) == 3)
    #expect(try await metric(fixture, 1) == nil)
    #expect(try await store.due(demand(Self.epoch + 40)).isEmpty)
    let next = try await store.due(demand(Self.epoch + Self.day))
    let again = try #require(next.first { $0.key.keyID == StoreFixture.keyID(0) })
    #expect(again.receipt == [7, 7])
    #expect(again.fetchedAt == Self.epoch + 40)
    #expect(again.failures == 0)
    // One without a metric leaves the last one.
    #expect(try await store.keep(refreshed([8], metric: nil), for: again, now: Self.epoch + Self.day))
    #expect(try await metric(fixture, 0) == 3)
  }

  @Test("An answer to a receipt that was replaced meanwhile changes nothing", arguments: Backend.allCases)
  func late(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    let first = try #require(try await store.due(demand(Self.epoch)).first)
    #expect(try await store.keep(refreshed(), for: first, now: Self.epoch))
    #expect(try await store.keep(refreshed([9], metric: 99), for: first, now: Self.epoch + 1) == false)
    try await store.putOff(first, to: nil, failures: 1)
    #expect(try await metric(fixture, 0) == 3)
    #expect(try await store.due(demand(Self.epoch + Self.day)).count == 1)
  }

  @Test("Only one of many answers to one receipt is kept", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    let first = try #require(try await store.due(demand(Self.epoch)).first)
    let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await store.keep(
            refreshed([UInt8(number)], metric: Int64(number)), for: first, now: Self.epoch)
        }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(kept == 1)
    let metric = try await metric(fixture, 0)
    let bytes = try await column(fixture, "r.receipt", 0) { $0.bytes(0) }
    #expect(bytes?.first.map { Int64($0) } == metric)
  }

  @Test("RULES §1.10: revoked, banned and unused keys are not asked about", arguments: Backend.allCases)
  func inactive(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 4)
    defer { withExtendedLifetime(fixture) {} }
    _ = try await fixture.keys.revoke(StoreFixture.keyID(0))
    _ = try await fixture.keys.setBanned(true, StoreFixture.keyID(1))
    let later = Self.epoch + 20 * Self.day
    // The third is used today, the fourth was never.
    _ = try await fixture.ledger.admit(Requests.assertion(2, counter: 1, id: 1, now: later * 1_000))
    #expect(try await store.due(demand(later)).map(\.key.keyID) == [StoreFixture.keyID(2)])
    // Looked at again a day later: the ban is lifted, and both are used again.
    _ = try await fixture.keys.setBanned(false, StoreFixture.keyID(1))
    let next = later + Self.day
    for key in [1, 3] {
      _ = try await fixture.ledger.admit(
        Requests.assertion(key, counter: 1, id: key + 10, now: next * 1_000))
    }
    #expect(try await store.due(demand(next - 1)).map(\.key.keyID) == [StoreFixture.keyID(2)])
    let due = Set(try await store.due(demand(next)).map(\.key.keyID))
    #expect(due == [StoreFixture.keyID(1), StoreFixture.keyID(3)])
    #expect(try await column(fixture, "r.next_refresh", 0) { $0.optionalInt64(0) } == .some(nil))
  }

  @Test("Many unused keys do not keep the used ones waiting", arguments: Backend.allCases)
  func crowd(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    // Rows of before, due earlier than the used one.
    try await fixture.database.write { transaction in
      for number in 1_000..<4_000 {
        let id = try await transaction.insert(
          """
          insert into device_keys (key_id, public_key, app_id, environment, anchor, registered_at)
          values ($1, $1, 'a', 'production', $1, 5)
          """, [.blob(StoreFixture.keyID(number))])
        try await transaction.execute("insert into device_states (device) values ($1)", [.integer(id)])
        try await transaction.execute(
          "insert into device_receipts (device, receipt, received_at, next_refresh) values ($1, $2, 5, 5)",
          [.integer(id), .blob([0])])
      }
    }
    #expect(try await store.due(demand(Self.epoch, limit: 10)).count == 1)
    for _ in 0..<2 { #expect(try await store.due(demand(Self.epoch, limit: 10)).isEmpty) }
    let left = try await fixture.database.read {
      try await $0.first("select count(*) from device_receipts where next_refresh <= \(Self.epoch)") {
        $0.int64(0)
      }
    }
    #expect(left == 0)
  }

  @Test("Keys that wait for their first metric go before 10 000 that have one", arguments: Backend.allCases)
  func order(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 3)
    defer { withExtendedLifetime(fixture) {} }
    try await fixture.database.write { transaction in
      for number in 1_000..<(backend == .memory ? 11_000 : 1_500) {
        let id = try await transaction.insert(
          """
          insert into device_keys (key_id, public_key, app_id, environment, anchor, registered_at)
          values ($1, $1, 'a', 'production', $1, \(Self.epoch))
          """, [.blob(StoreFixture.keyID(number))])
        try await transaction.execute("insert into device_states (device) values ($1)", [.integer(id)])
        try await transaction.execute(
          """
          insert into device_receipts (device, receipt, received_at, fetched_at, next_refresh)
          values ($1, $2, 5, 5, 5)
          """, [.integer(id), .blob([0])])
      }
    }
    let due = try await store.due(demand(Self.epoch, limit: 10))
    #expect(due.count == 10)
    #expect(Set(due.prefix(3).map(\.key.keyID)) == Set((0..<3).map { StoreFixture.keyID($0) }))
  }

  @Test(
    "A clock that ran ahead and was set back neither hides a receipt nor a pause", arguments: Backend.allCases
  )
  func clock(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    let ahead = Self.epoch + 9_000 * Self.day
    let first = try #require(try await store.due(demand(ahead, activeFor: 19_000 * Self.day)).first)
    #expect(try await store.keep(refreshed(next: ahead + Self.day), for: first, now: ahead))
    try await store.pause(until: ahead + 60, now: ahead)
    #expect(try await store.due(demand(Self.epoch + 5)).count == 1)
    try await store.pause(until: Self.epoch + 1_000, now: Self.epoch + 5)
    #expect(try await store.due(demand(Self.epoch + 700)).isEmpty)
    #expect(try await store.due(demand(Self.epoch + 1_001)).count == 1)
  }

  @Test("While there is a pause no node gets any; a shorter one does not end it", arguments: Backend.allCases)
  func pause(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 1)
    defer { withExtendedLifetime(fixture) {} }
    try await store.pause(until: Self.epoch + 100, now: Self.epoch)
    try await store.pause(until: Self.epoch + 10, now: Self.epoch)
    #expect(try await store.due(demand(Self.epoch + 99)).isEmpty)
    #expect(try await store.due(demand(Self.epoch + 100)).count == 1)
    // Nobody pauses for longer than a day.
    try await store.pause(until: .max, now: Self.epoch)
    #expect(try await store.due(demand(Self.epoch + Self.day - 1)).isEmpty)
    #expect(try await store.due(demand(Self.epoch + Self.day)).count == 1)
  }

  @Test("What DeviceCheck said is kept; of a key that is gone nothing is", arguments: Backend.allCases)
  func standing(backend: Backend) async throws {
    let (fixture, store) = try await fixture(backend, keys: 2)
    defer { withExtendedLifetime(fixture) {} }
    try await store.note(
      DeviceStanding(bits: DeviceBits(bit0: true, bit1: true), isKnown: true), of: StoreFixture.keyID(0))
    try await store.note(DeviceStanding(bits: nil, isKnown: false), of: StoreFixture.keyID(1))
    try await store.note(DeviceStanding(bits: nil, isKnown: false), of: StoreFixture.keyID(9))
    func kept(_ key: Int) async throws -> [Int64?]? {
      try await column(fixture, "k.device_bits, k.known_device", key) {
        [$0.optionalInt64(0), $0.optionalInt64(1)]
      }
    }
    #expect(try await kept(0) == [3, 1])
    #expect(try await kept(1) == [nil, 0])
  }
}
