import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing
import UserData

@testable import Server

@Suite("Repeats of functions that store") struct StoredRepeatTests {
  private static let key = "3c1f0c0e-9a39-4b5f-9d2c-5a3e7d0d2f11"

  @Test("RULES §5.8: a repeat names the same object, and makes none")
  func repeated() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let first = try await StoringServer.stored(
      try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    let again = try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key)
    #expect(again.fields["idempotency-replayed"] == "true")
    let second = try await StoringServer.stored(again)
    #expect(second["path"]?.string == first["path"]?.string)
    #expect(server.whole.upstreamRequests.values.count == 1)
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 1)
    #expect(try await server.whole.usage().count == 1)
  }

  @Test("RULES §5.8: a repeat is answered also when no more have room")
  func full() async throws {
    let server = try await StoringServer { $0.storage.objectsPerUser = 1 }
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    _ = try await StoringServer.stored(
      try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    _ = try await StoringServer.stored(
      try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key))
    #expect(
      try await Outcome(server.call("note", ["words": "x"], phone, as: ada, key: Self.key + "-2"))
        == Outcome(422, "object_limit_reached"))
    // Whoever was refused asks with the same key again once there is room.
    #expect(try await server.objects.erase(of: try #require(UUID(ada.userID))) == 1)
    #expect(
      try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key + "-2").status == 200)
  }

  /// What a node leaves that ends amid the call: the claim runs on, the row of the reservation is open.
  private func endAmid(_ server: StoringServer, keepsObject: Bool) async throws {
    try await server.whole.database.write { transaction in
      try await transaction.execute(
        "update kept_answers set state = 0, sealed = null, leased_until = $1",
        [.integer(server.whole.clock.now + Idempotency.lease)])
      if !keepsObject { try await transaction.execute("delete from objects") }
    }
    server.whole.clock.advance(milliseconds: Idempotency.lease + 1)
  }

  @Test(
    "RULES §5.8: a node that ended after it stored and before it answered leaves the object for the repeat")
  func endedAfterStoring() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let (ada, grace) = (try await server.signUp(), try await server.signUp())
    let first = try await StoringServer.stored(
      try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    try await endAmid(server, keepsObject: true)
    let again = try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key)
    #expect(again.fields["idempotency-replayed"] == "true")
    let second = try await StoringServer.stored(again)
    #expect(second.value.text == first.value.text)
    #expect(server.whole.upstreamRequests.values.count == 1)
    // The same key is another request where another user asks.
    let other = try await StoringServer.stored(
      try await server.call("creature", ["name": "Mo"], phone, as: grace, key: Self.key))
    #expect(other["path"]?.string != first["path"]?.string)
  }

  @Test(
    "RULES §5.8: while its lease lasts nobody waits for a dead node's answer that is stored already")
  func storedByAnother() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    let first = try await StoringServer.stored(
      try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    let until = server.whole.clock.now + Idempotency.lease
    try await server.whole.database.write { transaction in
      _ = try await transaction.execute(
        "update kept_answers set state = 0, sealed = null, leased_until = $1", [.integer(until)])
    }
    let again = try await server.call("creature", ["name": "Mo"], phone, as: ada, key: Self.key)
    #expect(again.fields["idempotency-replayed"] == "true")
    #expect(try await StoringServer.stored(again).value.text == first.value.text)
    let other = try await server.call("creature", ["name": "Bo"], phone, as: ada, key: Self.key)
    #expect(try await Outcome(other) == Outcome(422, "idempotency_mismatch"))
    #expect(server.whole.upstreamRequests.values.count == 1)
  }

  @Test(
    "RULES §5.8: a key that is used again once its answer is forgotten is another request, and finds nothing of the first"
  )
  func usedAgain() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    _ = try await StoringServer.stored(
      try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    server.whole.clock.advance(milliseconds: Idempotency.life + 1)
    // The second is left before it stores anything.
    let object = try await StoringServer.stored(
      try await server.call("note", ["words": "y"], phone, as: ada, key: Self.key))
    await server.whole.background.drain()
    let path = try #require(object["path"]?.string)
    try await server.whole.database.write { transaction in
      try await transaction.execute("delete from objects where path = $1", [.text(path)])
      try await transaction.execute("update kept_answers set state = 2, sealed = null")
    }
    let again = try await server.call("note", ["words": "y"], phone, as: ada, key: Self.key)
    #expect(try await Outcome(again) == Outcome(422, "idempotency_incomplete"))
    #expect(try await server.objects.standing(of: try #require(UUID(ada.userID))).count == 1)
  }

  @Test("RULES §5.2, §5.5: what a dead server stored is booked by the sweep at what it cost, and once")
  func bookedBySweep() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    _ = try await StoringServer.stored(try await server.call("note", ["words": "x"], phone, as: ada))
    let usual = try #require(try await server.whole.usage().first)
    try await server.keepFromSettling {
      _ = try await StoringServer.stored(try await server.call("note", ["words": "x"], phone, as: ada))
    }
    #expect(try await server.whole.openReservations() == 1)
    server.whole.clock.advance(milliseconds: LiveReservations.lease + 1)
    #expect(try await server.whole.ledger.sweep(now: server.whole.clock.now) == 1)
    #expect(await server.whole.server.jobs.first { $0.name == "settle_owed" }?.run() == .done)
    let rows = try await server.whole.usage()
    #expect(rows.count == 2 && rows.allSatisfy { !$0.estimated && $0.cost == usual.cost })
    #expect(
      rows.map(\.keyID) == [usual.keyID, usual.keyID] && rows.map(\.userID) == [ada.userID, ada.userID])
    #expect(rows.map(\.outputTokens) == [usual.outputTokens, usual.outputTokens])
    let booked = try await server.whole.booked()
    #expect(booked.line == 2 * usual.cost && booked.held == 0)
  }

  @Test(
    "RULES §5.8: a node that ended before it stored says so; nothing is booked twice, a new key asks anew")
  func endedBeforeStoring() async throws {
    let server = try await StoringServer()
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    _ = try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key)
    await server.whole.background.drain()
    try await endAmid(server, keepsObject: false)
    let again = try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key)
    #expect(try await Outcome(again) == Outcome(422, "idempotency_incomplete"))
    #expect(try await server.whole.usage().count == 1)
    _ = try await StoringServer.stored(
      try await server.call("note", ["words": "x"], phone, as: ada, key: Self.key + "-2"))
  }

  @Test(
    "RULES §5.2: what is made is stored before it is booked, so that no end in between loses what was paid for"
  )
  func order() async throws {
    let plain = try await StoringServer()
    let seen = Recorder<Int64>()
    let watching = BentObjectStore(plain.objects) {
      seen.append(
        try await plain.whole.database.read {
          try await $0.first("select count(*) from reservations") { $0.int64(0) } ?? -1
        })
    }
    let server = try await StoringServer(objects: watching, sharing: plain.whole)
    let phone = try await server.whole.phone()
    let ada = try await server.signUp()
    _ = try await StoringServer.stored(try await server.call("note", ["words": "x"], phone, as: ada))
    #expect(seen.values == [1], "the reservation was open when the object was put")
    #expect(try await server.whole.openReservations() == 0)
  }
}
