import Admission
import BramleyTesting
import Encodings
import SQL
import Stores
import Testing

/// A deletion holds its user's row for as long as it takes, and admissions look at that row too.
@Suite("Users whom another transaction holds", .serialized, TestPostgres.required)
struct NodeHeldUserTests {
  private func user(_ number: Int) -> UUID { AccountFixture.id(number) }

  private func request(_ key: Int, _ counter: Int, _ user: UUID?) -> AdmissionRequest {
    var request = Requests.assertion(
      key, counter: UInt32(counter), id: key * 1_000 + counter, charges: [Requests.daily(100)])
    request.user = user.map { KeyUser(id: $0.description, changes: [Requests.daily(100)]) }
    return request
  }

  private func fixture(statementTimeout: Int32 = 120_000) async throws -> NodeFixture {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: statementTimeout)
    try await fixture.register(8)
    let ids = (1...3).map { SQLValue.uuid(user($0).octets) }
    try await fixture.nodes[0].database.write { transaction in
      for id in ids {
        try await transaction.execute(
          """
          insert into users (id, is_anonymous, app_metadata, user_metadata, created_at, updated_at)
          values ($1, 1, '{}', '{}', 1, 1)
          """, [id])
      }
    }
    return fixture
  }

  @Test(
    "RULES §1.8: a request alone is refused that makes a user a key's while another holds them; others do not wait"
  )
  func held() async throws {
    let fixture = try await fixture()
    let ledger = fixture.nodes[0].ledger
    #expect(try await ledger.admit(request(7, 1, user(1))).isAdmitted)
    try await fixture.nodes[1].database.holding(
      "select 1 from users where id = '\(user(1))' for update"
    ) {
      for counter in 2...4 {
        try await withThrowingTaskGroup { group in
          for key in 0..<8 {
            // Two ask for the held one, two for others, one for one who is not there, and one is the held one's.
            let (asked, refusal): (UUID?, AdmissionRefusal?) =
              switch key {
              case 0, 1: (user(1), .userHeld)
              case 2, 3: (user(key), nil)
              case 4: (user(9), .userGone)
              case 7: (user(1), nil)
              default: (nil, nil)
              }
            group.addTask {
              let decision = try await ledger.admit(request(key, counter, asked))
              #expect(decision.refusal == refusal, "key \(key)")
            }
          }
          try await group.waitForAll()
        }
      }
      // RULES §1.5: the counter is used up all the same, and nothing else is.
      #expect(try await ledger.admit(request(0, 4, user(2))).refusal == .counterReplayed)
      #expect(try await ledger.admit(request(0, 5, nil)).isAdmitted)
      #expect(
        try await fixture.number("select count(*) from device_states where user_id = '\(user(1))'") == 1)
    }
    for key in 0..<2 { #expect(try await ledger.admit(request(key, 6, user(1))).isAdmitted) }
    #expect(
      try await fixture.number("select count(*) from device_states where user_id = '\(user(1))'") == 3)
  }

  @Test("what a batch lacked that was given up is nothing to those after it")
  func givenUp() async throws {
    let fixture = try await fixture(statementTimeout: 1_500)
    let node = fixture.nodes[0]
    func asking(_ key: Int, _ user: UUID?) -> AdmissionRequest {
      var asking = Requests.assertion(key, counter: 1, id: key, charges: [Requests.daily(100, .everyone)])
      asking.user = user.map { KeyUser(id: $0.description, changes: []) }
      return asking
    }
    #expect(try await node.ledger.admit(asking(2, nil)).isAdmitted)
    for counter in 1...3 { #expect(try await node.ledger.admit(request(1, counter, nil)).isAdmitted) }
    var settings = fixture.settings
    settings.statementTimeout = 60_000
    let patient = try Database(.postgreSQL(settings))
    defer { patient.close() }
    // It comes again for its user, and waits for a line in vain.
    let error = try await patient.holding("select 1 from lines for update") {
      await #expect(throws: DatabaseError.self) { _ = try await node.ledger.admit(asking(0, user(1))) }
    }
    #expect(error == .timedOut)
    // Another's request neither locks that user nor comes again for them.
    try await patient.holding("select 1 from users where id = '\(user(1))' for update") {
      let before = try #require(node.database.traffic?.counts.roundTrips)
      #expect(try await node.ledger.admit(request(1, 4, nil)).isAdmitted)
      let after = try #require(node.database.traffic?.counts.roundTrips)
      #expect(after - before == 2)
    }
  }

  @Test("RULES §1.8: nor does a session that another holds keep others from buying tokens")
  func session() async throws {
    let fixture = try await fixture()
    let ledger = fixture.nodes[0].ledger
    let sessions = (1...2).map { AccountFixture.id(20 + $0) }
    let users = (1...2).map { user($0) }
    try await fixture.nodes[0].database.write { transaction in
      for (session, user) in zip(sessions, users) {
        try await transaction.execute(
          """
          insert into sessions (id, user_id, created_at, refreshed_at, counter, auth_time, methods)
          values ($1, $2, 1, 1, 0, 1, '')
          """, [.uuid(session.octets), .uuid(user.octets)])
      }
    }
    @Sendable func buy(_ key: Int, _ counter: Int, _ session: UUID) async throws -> AdmissionRefusal? {
      let token = SessionToken(
        hash: AccountFixture.hash(key * 1_000 + counter), routes: ["/ai/x"], expiry: StoreFixture.epoch + 600,
        session: session.octets)
      return try await ledger.issueSession(request(key, counter, nil), token: token, atMost: 9).refusal
    }
    try await fixture.nodes[1].database.holding(
      "select 1 from sessions where id = '\(sessions[0])' for update"
    ) {
      try await withThrowingTaskGroup { group in
        for key in 0..<6 {
          group.addTask {
            let (session, refusal): (UUID, AdmissionRefusal?) =
              switch key % 3 {
              case 0: (sessions[0], .userHeld)
              case 1: (sessions[1], nil)
              default: (AccountFixture.id(99), .sessionOver)
              }
            let answer = try await buy(key, 1, session)
            #expect(answer == refusal, "key \(key)")
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try await buy(0, 2, sessions[0]) == nil)
    #expect(try await fixture.number("select count(*) from session_tokens where session is not null") == 3)
  }

  @Test(
    "RULES §1.8: admissions of several nodes share the users whom they look at, and refuse nobody for that")
  func shared() async throws {
    let fixture = try await fixture()
    let ledger = fixture.nodes[0].ledger
    let other = fixture.nodes[1].ledger
    try await withThrowingTaskGroup { group in
      for key in 0..<8 {
        for counter in 1...6 {
          group.addTask {
            let ledger = counter.isMultiple(of: 2) ? ledger : other
            let decision = try await ledger.admit(request(key, counter, user(1 + counter % 3)))
            #expect(decision.isAdmitted, "\(decision)")
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
