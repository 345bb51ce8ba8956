import Admission
import AppAttest
import SQL
import Stores
import Testing

@Suite("Device key store") struct DeviceKeyStoreTests {
  private func register(
    _ fixture: StoreFixture, _ key: DeviceKey, challenge: Int, expiry: Int64 = StoreFixture.epoch + 300
  ) async throws -> RegistrationOutcome {
    try await fixture.keys.register(
      key, receipt: [1], challenge: StoreFixture.octets(challenge, 16), challengeExpiry: expiry)
  }

  @Test("A key comes back with all its facts; the receipt is kept", arguments: Backend.allCases)
  func roundTrip(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    #expect(try await fixture.register(1) == .created)
    #expect(try await fixture.keys.key(StoreFixture.keyID(1)) == StoreFixture.key(1))
    #expect(try await fixture.keys.key(StoreFixture.keyID(2)) == nil)
    let receipt = try await fixture.database.read {
      try await $0.first("select receipt from device_receipts") { $0.bytes(0) }
    }
    #expect(receipt == [1, 2, 3])
  }

  @Test(
    "A lost answer is repeated; other facts are a conflict; a used challenge is used",
    arguments: Backend.allCases)
  func outcomes(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let key = StoreFixture.key(1)
    #expect(try await register(fixture, key, challenge: 1) == .created)
    #expect(try await register(fixture, key, challenge: 1) == .alreadyRegistered)
    #expect(try await register(fixture, key, challenge: 2) == .alreadyRegistered)
    var later = key
    later.registeredAt += 50
    later.facts.osVersion = "27.0"
    #expect(try await register(fixture, later, challenge: 3) == .alreadyRegistered)
    #expect(try await fixture.keys.key(key.keyID) == key)
    var other = key
    other.publicKey[5] ^= 1
    #expect(try await register(fixture, other, challenge: 4) == .conflict)
    other = key
    other.environment = .development
    #expect(try await register(fixture, other, challenge: 5) == .conflict)
    other = key
    other.appID += "x"
    #expect(try await register(fixture, other, challenge: 6) == .conflict)
    other = key
    other.anchor[0] ^= 1
    #expect(try await register(fixture, other, challenge: 7) == .conflict)
    // Consumed by the first key, also where the registration was refused.
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 1) == .challengeUsed)
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 4) == .challengeUsed)
    #expect(try await fixture.keys.key(StoreFixture.keyID(2)) == nil)
  }

  @Test("One challenge registers one of many keys that race for it", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let outcomes = try await withThrowingTaskGroup(of: RegistrationOutcome.self) { group in
      for number in 0..<50 {
        group.addTask { try await register(fixture, StoreFixture.key(number), challenge: 7) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { $0 == .created } == 1)
    #expect(outcomes.count { $0 == .challengeUsed } == 49)
  }

  @Test("RULES §1.4: a swept challenge is not revived by any clock", arguments: Backend.allCases)
  func floor(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    #expect(try await register(fixture, StoreFixture.key(1), challenge: 1) == .created)
    try await fixture.keys.sweepChallenges(now: StoreFixture.epoch + 400)
    // The clock steps back: the challenge would be fresh again, and its row is gone.
    try await fixture.keys.sweepChallenges(now: StoreFixture.epoch - 10_000)
    let rows = try await fixture.database.read {
      try await $0.first("select count(*) from consumed_challenges") { $0.int64(0) }
    }
    #expect(rows == 0)
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 1) == .challengeUsed)
    let at = StoreFixture.epoch + 300
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 2, expiry: at) == .challengeUsed)
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 2, expiry: at + 1) == .created)
    let assertion = Requests.assertion(
      1, counter: 1, id: 1, challenge: ConsumedChallenge.row(random: StoreFixture.octets(1, 16), expiry: at))
    #expect(try await fixture.ledger.admit(assertion).refusal == .challengeUsed)
  }

  @Test(
    "RULES §1.4: a clock that ran ahead shuts nobody out once it is right again", arguments: Backend.allCases)
  func clockRanAhead(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.keys.sweepChallenges(now: StoreFixture.epoch + 400_000_000)
    #expect(try await register(fixture, StoreFixture.key(1), challenge: 1) == .created)
    try await fixture.keys.sweepChallenges(now: StoreFixture.epoch + 400_000_000)
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 1) == .challengeUsed)
    let later = StoreFixture.epoch + 600
    #expect(
      try await register(fixture, StoreFixture.key(2), challenge: 2, expiry: later) == .created)
  }

  @Test("A token is known from its making to its end, and no longer", arguments: Backend.allCases)
  func knownTokens(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let ledger = fixture.ledger
    let (debug, session) = (StoreFixture.octets(1, 32), StoreFixture.octets(2, 32))
    let now = StoreFixture.epoch
    #expect(try await !ledger.knows(tokenHash: debug, now: now))
    let isMade = try await fixture.debugTokens.createDebugToken(
      name: "a", hash: debug, expiry: now + 10, now: now)
    #expect(isMade)
    #expect(try await ledger.knows(tokenHash: debug, now: now + 9))
    #expect(try await !ledger.knows(tokenHash: debug, now: now + 10))
    #expect(try await fixture.debugTokens.revokeDebugToken(name: "a"))
    #expect(try await !ledger.knows(tokenHash: debug, now: now))

    try await fixture.registerMany(1)
    let token = SessionToken(hash: session, routes: ["/r"], expiry: now + 10)
    #expect(
      try await ledger.issueSession(Requests.assertion(0, counter: 1, id: 1), token: token, atMost: 2)
        .isAdmitted)
    #expect(try await ledger.knows(tokenHash: session, now: now + 9))
    #expect(try await !ledger.knows(tokenHash: session, now: now + 10))
    #expect(try await fixture.keys.revoke(StoreFixture.keyID(0)))
    #expect(try await !ledger.knows(tokenHash: session, now: now))
  }

  @Test("A sweep forgets what expired and nothing else", arguments: Backend.allCases)
  func sweepKeeps(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    _ = try await register(fixture, StoreFixture.key(1), challenge: 1, expiry: StoreFixture.epoch + 300)
    try await fixture.keys.sweepChallenges(now: StoreFixture.epoch + 299)
    #expect(try await register(fixture, StoreFixture.key(2), challenge: 1) == .challengeUsed)
  }

  @Test("Revoking ends a key at once and for good; banning can be taken back", arguments: Backend.allCases)
  func revoke(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.registerMany(2)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 1, id: 1)).isAdmitted)
    #expect(try await fixture.keys.setBanned(true, StoreFixture.keyID(0)))
    #expect(try await fixture.keys.key(StoreFixture.keyID(0)) != nil)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 2, id: 2)).refusal == .banned)
    #expect(try await fixture.register(0) == .revoked)
    #expect(try await fixture.keys.setBanned(false, StoreFixture.keyID(0)))
    // RULES §1.5: the ban did not leave counter 2 for later.
    #expect(
      try await fixture.ledger.admit(Requests.assertion(0, counter: 2, id: 3)).refusal == .counterReplayed)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 3, id: 4)).isAdmitted)
    #expect(try await fixture.keys.revoke(StoreFixture.keyID(0)))
    #expect(try await fixture.keys.key(StoreFixture.keyID(0)) == nil)
    #expect(try await fixture.ledger.admit(Requests.assertion(0, counter: 4, id: 5)).refusal == .unknownKey)
    #expect(try await fixture.keys.setBanned(false, StoreFixture.keyID(0)) == false)
    #expect(try await fixture.register(0) == .revoked)
    #expect(try await fixture.keys.revoke(StoreFixture.keyID(9)) == false)
    #expect(try await fixture.ledger.admit(Requests.assertion(1, counter: 1, id: 6)).isAdmitted)
  }

  @Test("RULES §1.4: every node gets the same challenge secret", arguments: Backend.allCases)
  func secrets(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let all = try await withThrowingTaskGroup(of: [ChallengeSecret].self) { group in
      for number in 0..<20 {
        group.addTask { try await fixture.keys.challengeSecrets(fresh: StoreFixture.octets(number, 32)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(all.allSatisfy { $0 == all[0] && $0.count == 1 })
    try await fixture.keys.rotateChallengeSecret(fresh: StoreFixture.octets(100, 32))
    let rotated = try await fixture.keys.challengeSecrets(fresh: StoreFixture.octets(7, 32))
    #expect(rotated.map(\.secret) == [StoreFixture.octets(100, 32), all[0][0].secret])
    #expect(rotated[0].id != rotated[1].id)
    try await fixture.keys.rotateChallengeSecret(fresh: StoreFixture.octets(101, 32))
    let again = try await fixture.keys.challengeSecrets(fresh: StoreFixture.octets(7, 32))
    #expect(again.map(\.secret) == [StoreFixture.octets(101, 32), StoreFixture.octets(100, 32)])
  }
}
