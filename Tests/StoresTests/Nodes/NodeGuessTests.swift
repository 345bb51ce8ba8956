import Admission
import BramleyTesting
import Gateway
import SQL
import Stores
import System
import Testing

/// A node asks for lines by what it saw last of a key; these change it behind its back.
@Suite("What a node remembers of keys, and others change", .serialized, TestPostgres.required)
struct NodeGuessTests {
  private static let own = Requests.daily(5, .user)

  private func request(
    _ counter: Int, user: String? = nil, person: String? = nil, key: Int = 0, charges: [Charge] = [own],
    again: Bool = false
  ) -> AdmissionRequest {
    var request = Requests.assertion(
      key, counter: UInt32(counter), id: key * 100_000 + counter + (again ? 50_000 : 0), charges: charges)
    request.user = user.map { KeyUser(id: $0, person: person, changes: [Requests.burst(every: 1, 1_000)]) }
    return request
  }

  /// How much is counted for a user or a person.
  private func used(_ fixture: NodeFixture, _ name: String) async throws -> Int64 {
    try await fixture.number(
      """
      select coalesce(sum(l.used), 0)::bigint from lines l join subjects s on s.id = -l.subject
        join rules r on r.id = l.rule
      where s.name = '\(name)' and r.name = 'daily'
      """)
  }

  private func fixture(nodes: Int = 2) async throws -> NodeFixture {
    let fixture = try await NodeFixture(nodes: nodes, statementTimeout: 60_000)
    try await fixture.register(3)
    return fixture
  }

  @Test("RULES §1.9: a key whose user another node changed counts for the new one, never for the old one")
  func userChanged() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let persons = [Self.own, Requests.daily(50, .person)]
    for counter in 1...4 {
      #expect(
        try await first.ledger.admit(request(counter, user: "a", person: "pa", charges: persons)).isAdmitted)
    }
    for round in 0..<3 {
      let new = "b\(round)"
      let counter = 10 + round * 10
      #expect(
        try await second.ledger.admit(
          request(counter, user: new, person: "p\(new)", charges: persons)
        ).isAdmitted)
      // Warm with another's lines. Refused where the new one has used theirs up, although the old one has not.
      for next in 1...4 {
        #expect(try await first.ledger.admit(request(counter + next, charges: persons)).isAdmitted)
      }
      #expect(try await !first.ledger.admit(request(counter + 5, charges: persons)).isAdmitted)
      #expect(try await used(fixture, new) == 5)
      #expect(try await used(fixture, "p\(new)") == 5)
      #expect(try await used(fixture, "a") == 4)
      #expect(try await used(fixture, "pa") == 4)
    }
  }

  @Test("a key that is banned, revoked or gone since is refused, and nothing is counted")
  func standing() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let charges = [Requests.daily(50)]
    for key in 0..<3 {
      for counter in 1...3 {
        #expect(try await first.ledger.admit(request(counter, key: key, charges: charges)).isAdmitted)
      }
    }
    #expect(try await second.keys.setBanned(true, StoreFixture.keyID(0)))
    #expect(try await second.keys.revoke(StoreFixture.keyID(1)))
    _ = try await second.database.write { transaction in
      try await transaction.execute(
        "delete from device_keys where key_id = $1", [.blob(StoreFixture.keyID(2))])
    }
    #expect(try await first.ledger.admit(request(9, key: 0, charges: charges)).refusal == .banned)
    #expect(try await first.ledger.admit(request(9, key: 1, charges: charges)).refusal == .unknownKey)
    #expect(try await first.ledger.admit(request(9, key: 2, charges: charges)).refusal == .unknownKey)
    #expect(try await fixture.sums("daily") == (9, 0))
    // And back: what was remembered of the refusal refuses nobody.
    #expect(try await second.keys.setBanned(false, StoreFixture.keyID(0)))
    #expect(try await first.ledger.admit(request(10, key: 0, charges: charges)).isAdmitted)
  }

  @Test("a key that is registered anew, while another has its old number, counts in its own lines alone")
  func numbers() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let charges = [Requests.daily(5)]
    for counter in 1...3 {
      #expect(try await first.ledger.admit(request(counter, charges: charges)).isAdmitted)
    }
    let keyID = SQLValue.blob(StoreFixture.keyID(0))
    let old = try await second.database.write { transaction in
      let id = try await transaction.first("select id from device_keys where key_id = $1", [keyID]) {
        $0.int64(0)
      }
      try await transaction.execute("delete from device_keys where key_id = $1", [keyID])
      return try #require(id)
    }
    for number in [0, 7] {
      _ = try await second.keys.register(
        StoreFixture.key(number), receipt: [1], challenge: StoreFixture.octets(number + 2_000_000, 16),
        challengeExpiry: StoreFixture.epoch + 300)
    }
    // Another key gets the number that the node remembers.
    try await second.database.write { transaction in
      let other = SQLValue.blob(StoreFixture.keyID(7))
      try await transaction.execute(
        """
        with k as (delete from device_keys where key_id = $1 returning *)
        insert into device_keys (id, key_id, public_key, app_id, environment, anchor, registered_at, status)
        select $2, key_id, public_key, app_id, environment, anchor, registered_at, status from k
        """, [other, .integer(old)])
      try await transaction.execute(
        "insert into device_states (device) values ($1) on conflict do nothing", [.integer(old)])
    }
    for counter in 1...5 {
      #expect(try await first.ledger.admit(request(counter, charges: charges, again: true)).isAdmitted)
    }
    #expect(try await !first.ledger.admit(request(6, charges: charges, again: true)).isAdmitted)
    #expect(
      try await fixture.number("select used from lines where subject = \(old)") == 3)
    #expect(try await fixture.number("select max(used) from lines where subject <> \(old)") == 5)
  }

  @Test("RULES §1.8: a session token that was revoked on another node opens nothing")
  func sessions() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let charges = [Requests.daily(50)]
    func token(_ number: Int) -> SessionToken {
      SessionToken(
        hash: StoreFixture.octets(number, 32), routes: ["r"], expiry: StoreFixture.epoch + 3_600)
    }
    func use(_ number: Int, _ id: Int) async throws -> AdmissionDecision {
      try await first.ledger.admit(
        Requests.make(
          .session(tokenHash: StoreFixture.octets(number, 32), route: "r"), id: 500_000 + id, charges: charges
        ))
    }
    let exchange = request(1, charges: [])
    #expect(try await second.ledger.issueSession(exchange, token: token(1), atMost: 1).isAdmitted)
    for id in 0..<3 { #expect(try await use(1, id).isAdmitted) }
    #expect(
      try await second.ledger.issueSession(request(2, charges: []), token: token(2), atMost: 1).isAdmitted)
    #expect(try await use(1, 4).refusal == .invalidToken)
    #expect(try await use(2, 5).isAdmitted)
    #expect(try await second.keys.revoke(StoreFixture.keyID(0)))
    #expect(try await use(2, 6).refusal == .invalidToken)
    #expect(try await fixture.sums("daily") == (4, 0))
  }

  @Test("a generation that is raised between two batches: numbers are learned anew, and counts are right")
  func generation() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let charges = [Requests.daily(50), Requests.daily(50, .address("192.0.2.1"))]
    for round in 0..<4 {
      let now = Requests.now + Int64(round) * 14 * 86_400_000
      let day = Window(id: "day \(round)", start: now - 1_000, end: now + 80_000_000)
      func charged(_ counter: Int) -> AdmissionRequest {
        Requests.assertion(
          0, counter: UInt32(counter), id: counter,
          charges: charges.map {
            Charge(
              subject: $0.subject, rule: $0.rule, amount: 1, limit: .window(day, limit: 3, unit: .requests))
          }, now: now, lease: nil)
      }
      for next in 1...3 { #expect(try await first.ledger.admit(charged(round * 10 + next)).isAdmitted) }
      #expect(try await !first.ledger.admit(charged(round * 10 + 4)).isAdmitted)
      // Forgets what is long over, and with it the numbers.
      _ = try await second.ledger.sweep(now: now + 13 * 86_400_000)
      #expect(try await fixture.number("select count(*) from periods") == 0)
    }
  }

  @Test("a batch in which one key comes as one user, as another and as none counts each for who it is")
  func mixed() async throws {
    let fixture = try await fixture(nodes: 1)
    let node = fixture.nodes[0]
    for counter in 1...3 { #expect(try await node.ledger.admit(request(counter, user: "a")).isAdmitted) }
    let loop = try EventLoop()
    defer { loop.stop() }
    // In one batch, behind one that waits. A request that gives the key another user names no line of theirs.
    let users: [String?] = [nil, "b", nil, nil, "c", nil, "a", nil]
    let requests = users.enumerated().map { index, user in
      request(10 + index, user: user, charges: user == nil ? [Self.own] : [])
    }
    let lock = "select 1 from device_states order by device for update"
    let posted = Locked(false)
    let decisions = try await withThrowingTaskGroup(of: (Bool, AdmissionDecision?).self) { group in
      try await node.database.holding(lock) {
        let first = request(9, charges: [])
        group.addTask(executorPreference: loop) { (false, try await node.ledger.admit(first)) }
        try await Task.sleep(for: .milliseconds(100))
        for request in requests {
          let isCounted = request.user == nil
          group.addTask(executorPreference: loop) { (isCounted, try await node.ledger.admit(request)) }
        }
        group.addTask(executorPreference: loop) {
          posted.withLock { $0 = true }
          return (false, nil)
        }
        while !posted.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    var counted: [String: Int64] = ["a": 3]
    for case (let isCounted, let decision?) in decisions {
      guard case .admitted(let admitted) = decision else {
        Issue.record("\(decision)")
        continue
      }
      if isCounted { counted[admitted.userID ?? "nobody", default: 0] += 1 }
    }
    #expect(counted.values.reduce(0, +) == 3 + 5)
    for user in ["a", "b", "c"] { #expect(try await used(fixture, user) == counted[user] ?? 0) }
  }
}
