import BramleyTesting
import Gateway
import SQL
import Stores
import Testing

@Suite("Calls in a provider's queue") struct QueuedCallStoreTests {
  private let now: Int64 = 1_800_000_000_000

  private func call(_ number: Int, user: String? = "user") -> QueuedCall {
    QueuedCall(
      id: StoreFixture.octets(number, 16), reservation: StoreFixture.octets(number + 1_000, 16),
      provider: "fal", model: "fal-ai/flux/schnell", route: "/ai/fal/queue/fal-ai/flux/schnell",
      upstreamID: "up-\(number)", owner: StoreFixture.keyID(1), userID: user,
      unit: UnitPrice(unit: "image", price: 3_000_000_000), microUnitBound: 2_000_000,
      imageBound: 2,
      reserve: 6_000_000_000, submittedAt: now)
  }

  @Test("what is kept comes back as it was, and nothing else does", arguments: Backend.allCases)
  func roundTrip(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLQueuedCallStore(fixture.database)
    try await store.add(call(1), nextLook: now)
    try await store.add(call(2, user: nil), nextLook: now)
    #expect(try await store.call(call(1).id) == call(1))
    #expect(try await store.call(call(2).id) == call(2, user: nil))
    #expect(try await store.call(call(3).id) == nil)
    #expect(try await store.call([]) == nil)
    await #expect(throws: (any Error).self) { try await store.add(self.call(1), nextLook: self.now) }
  }

  @Test("a call is taken when it is due, by one, and again only later", arguments: Backend.allCases)
  func taking(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLQueuedCallStore(fixture.database)
    for number in 1...3 { try await store.add(call(number), nextLook: now + Int64(number)) }
    #expect(try await store.take(dueAt: now, again: now + 10_000, atMost: 10) == [])
    let first = try await store.take(dueAt: now + 3, again: now + 10_000, atMost: 2)
    #expect(Set(first.map(\.upstreamID)) == ["up-1", "up-2"])
    #expect(
      try await store.take(dueAt: now + 3, again: now + 10_000, atMost: 10).map(\.upstreamID) == ["up-3"])
    #expect(try await store.take(dueAt: now + 9_999, again: now + 20_000, atMost: 10) == [])
    #expect(try await store.take(dueAt: now + 10_000, again: now + 20_000, atMost: 10).count == 3)
  }

  @Test("nodes that race for due calls: each call is one node's", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let other = backend == .disk ? try Database(.file(fixture.path)) : fixture.database
    defer {
      if backend == .disk { other.close() }
      withExtendedLifetime(fixture) {}
    }
    let stores = [SQLQueuedCallStore(fixture.database), SQLQueuedCallStore(other)]
    for number in 1...40 { try await stores[0].add(call(number), nextLook: now) }
    let taken = try await withThrowingTaskGroup(of: [QueuedCall].self) { group in
      for node in 0..<16 {
        group.addTask { [now] in
          try await stores[node % 2].take(dueAt: now, again: now + 60_000, atMost: 5)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(taken.map(\.upstreamID)).count == taken.count)
    var all = taken
    while case let more = try await stores[0].take(dueAt: now, again: now + 60_000, atMost: 5), !more.isEmpty
    {
      all += more
    }
    #expect(Set(all.map(\.upstreamID)).count == 40)
    #expect(all.count == 40)
  }

  @Test("a call ends once, is not taken any more, and is forgotten only then", arguments: Backend.allCases)
  func ending(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLQueuedCallStore(fixture.database)
    try await store.add(call(1), nextLook: now)
    try await store.add(call(2), nextLook: now)
    #expect(try await store.end(call(1).id, now: now + 5))
    #expect(try await !store.end(call(1).id, now: now + 6))
    #expect(try await !store.end(call(9).id, now: now))
    #expect(try await store.call(call(1).id)?.endedAt == now + 5)
    #expect(try await store.take(dueAt: now, again: now, atMost: 10).map(\.upstreamID) == ["up-2"])
    #expect(try await store.forget(endedBefore: now + 5, atMost: 10) == 0)
    #expect(try await store.forget(endedBefore: now + 6, atMost: 10) == 1)
    #expect(try await store.call(call(1).id) == nil)
    #expect(try await store.call(call(2).id) != nil)
  }

  @Test("a look that told nothing is counted, and does not open what has ended", arguments: Backend.allCases)
  func looking(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLQueuedCallStore(fixture.database)
    try await store.add(call(1), nextLook: now)
    try await store.look(at: call(1).id, again: now + 50, unclear: true)
    try await store.look(at: call(1).id, again: now + 60, unclear: false)
    #expect(try await store.call(call(1).id)?.attempts == 1)
    #expect(try await store.take(dueAt: now + 59, again: now + 99, atMost: 1) == [])
    #expect(try await store.take(dueAt: now + 60, again: now + 99, atMost: 1).count == 1)
    #expect(try await store.end(call(1).id, now: now))
    try await store.look(at: call(1).id, again: now, unclear: true)
    #expect(try await store.take(dueAt: now + 60, again: now + 99, atMost: 1) == [])
    #expect(try await store.call(call(1).id)?.attempts == 1)
  }

  @Test("a clock that went back does not leave a call lying", arguments: Backend.allCases)
  func clockBack(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLQueuedCallStore(fixture.database)
    try await store.add(call(1), nextLook: now + 86_400_000)
    #expect(try await store.take(dueAt: now, again: now + 10, atMost: 1).count == 1)
  }
}
