import Admission
import AppAttest
import SQL
import Stores
import Testing

@Suite("Keys of Anthropic's flow on a database") struct TokenMintStoreTests {
  private func store(_ fixture: StoreFixture) -> SQLTokenMintStore { SQLTokenMintStore(fixture.database) }

  private func token(_ number: Int) -> SessionToken {
    SessionToken(hash: StoreFixture.octets(number, 32), routes: ["/ai/x"], expiry: StoreFixture.epoch + 600)
  }

  private func register(_ fixture: StoreFixture, _ key: DeviceKey, token number: Int) async throws
    -> RegistrationOutcome
  {
    try await store(fixture).register(key, receipt: [1], token: token(number), from: "192.0.2.1")
  }

  private func exchange(_ fixture: StoreFixture, counter: Int, mints: Int64) async throws -> AdmissionDecision
  {
    try await fixture.ledger.issueSession(
      Requests.assertion(1, counter: UInt32(counter), id: counter, challenge: .mint(mints)),
      token: token(1_000 + counter), atMost: 2)
  }

  private func tokens(_ fixture: StoreFixture) async throws -> Int64? {
    try await fixture.database.read {
      try await $0.first("select count(*) from session_tokens") { $0.int64(0) }
    }
  }

  @Test("RULES §1.11: a key comes with its first token, once", arguments: Backend.allCases)
  func registration(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let key = StoreFixture.key(1)
    #expect(try await store(fixture).mints(of: key.keyID) == 0)
    #expect(try await !store(fixture).isKnown(key.keyID))
    #expect(try await register(fixture, key, token: 1) == .created)
    #expect(try await store(fixture).mints(of: key.keyID) == 1)
    #expect(try await fixture.keys.key(key.keyID) == key)
    #expect(try await register(fixture, key, token: 2) == .alreadyRegistered)
    var other = key
    other.publicKey[5] ^= 1
    #expect(try await register(fixture, other, token: 3) == .conflict)
    _ = try await fixture.keys.setBanned(true, key.keyID)
    #expect(try await register(fixture, key, token: 4) == .revoked)
    _ = try await fixture.keys.revoke(key.keyID)
    #expect(try await store(fixture).isKnown(key.keyID))
    #expect(try await tokens(fixture) == 0)
    #expect(try await store(fixture).mints(of: key.keyID) == 1)
  }

  @Test(
    "RULES §1.11: acceptance raises the count, whatever else refuses, and nothing else does",
    arguments: Backend.allCases)
  func counting(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    _ = try await register(fixture, StoreFixture.key(1), token: 1)
    #expect(try await exchange(fixture, counter: 1, mints: 0).refusal == .challengeUsed)
    #expect(try await exchange(fixture, counter: 2, mints: 2).refusal == .challengeUsed)
    #expect(try await exchange(fixture, counter: 3, mints: 1).isAdmitted)
    #expect(try await exchange(fixture, counter: 4, mints: 1).refusal == .challengeUsed)
    #expect(try await exchange(fixture, counter: 3, mints: 2).refusal == .counterReplayed)
    #expect(try await store(fixture).mints(of: StoreFixture.keyID(1)) == 3, "RULES §1.5")
    _ = try await fixture.keys.setBanned(true, StoreFixture.keyID(1))
    #expect(try await exchange(fixture, counter: 5, mints: 3).refusal == .banned)
    #expect(try await store(fixture).mints(of: StoreFixture.keyID(1)) == 4, "RULES §1.5")
    // A key that came by Bramley's own registration begins at nothing.
    try await fixture.register(2)
    #expect(try await store(fixture).mints(of: StoreFixture.keyID(2)) == 0)
    let first = Requests.assertion(2, counter: 1, id: 100, challenge: .mint(0))
    #expect(try await fixture.ledger.issueSession(first, token: token(2), atMost: 2).isAdmitted)
    #expect(try await store(fixture).mints(of: StoreFixture.keyID(2)) == 1)
  }

  @Test("RULES §1.11: of many exchanges of one count at once, one is granted", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let outcomes = try await withThrowingTaskGroup(of: RegistrationOutcome.self) { group in
      for number in 1...12 {
        group.addTask { try await self.register(fixture, StoreFixture.key(1), token: number) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.filter { $0 == .created }.count == 1)
    #expect(outcomes.filter { $0 == .alreadyRegistered }.count == 11)
    let decisions = try await withThrowingTaskGroup(of: AdmissionDecision.self) { group in
      for counter in 1...40 { group.addTask { try await self.exchange(fixture, counter: counter, mints: 1) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(decisions.filter(\.isAdmitted).count == 1)
    #expect(decisions.filter { $0.refusal == .challengeUsed }.count == 39)
    #expect(try await store(fixture).mints(of: StoreFixture.keyID(1)) == 2)
    #expect(try await tokens(fixture) == 2)
  }
}
