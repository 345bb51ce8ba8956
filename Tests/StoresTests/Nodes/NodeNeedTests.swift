import Admission
import BramleyTesting
import Encodings
import Gateway
import SQL
import Stores
import Testing

/// What a batch finds out that it lacks while it is decided: it begins anew, and has it.
@Suite("What a batch lacks", .serialized, TestPostgres.required) struct NodeNeedTests {
  private func request(_ counter: Int, user: String? = nil, charges: [Charge]) -> AdmissionRequest {
    var request = Requests.assertion(0, counter: UInt32(counter), id: counter, charges: charges)
    request.user = user.map { KeyUser(id: $0, changes: [Requests.burst(every: 1, 1_000)]) }
    return request
  }

  @Test("RULES §1.9: a crowd that comes with one key in one batch: whoever is the key's user is counted for")
  func crowd() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000)
    try await fixture.register(1)
    let ledger = fixture.nodes[0].ledger
    // More limits than there are attempts, and more users than lines are foreseen of.
    let own = (0..<12).map { number in
      Charge(
        subject: .user, rule: "own \(number)", amount: 1,
        limit: .window(Requests.day, limit: 100, unit: .requests))
    }
    #expect(try await ledger.admit(request(1, charges: own)).isAdmitted)
    let requests = (0..<80).map { place in
      place.isMultiple(of: 2)
        ? request(2 + place, user: "u\(place / 2)", charges: []) : request(2 + place, charges: own)
    }
    let decisions = try await fixture.inOneBatch(
      behind: request(100, charges: []),
      requests.map { request in { try await $0.admit(request) } })
    var counted: [String: Int64] = [:]
    for (request, decision) in zip(requests, decisions) where request.user == nil {
      guard case .admitted(let admitted) = decision else {
        Issue.record("\(decision)")
        continue
      }
      counted[admitted.userID ?? "nobody", default: 0] += 1
    }
    counted["nobody"] = nil
    #expect(counted.count > 32)
    for (user, count) in counted {
      let used = try await fixture.number(
        """
        select min(l.used) from lines l join subjects s on s.id = -l.subject join rules r on r.id = l.rule
        where s.name = '\(user)' and r.name like 'own %'
        """)
      #expect(used == count, "\(user)")
    }
  }

  @Test(
    "A first period whose transaction is rolled back is forgotten, although there is no generation to tell")
  func firstPeriod() async throws {
    let fixture = try await NodeFixture(nodes: 1, statementTimeout: 60_000)
    try await fixture.register(1)
    let ledger = fixture.nodes[0].ledger
    // The rule is there and outlives the rollback, and so what is remembered of it does.
    try await fixture.nodes[0].database.write {
      try await $0.script(
        """
        insert into rules (name) values ('daily');
        create sequence fuse;
        create function burn() returns trigger language plpgsql as $$ begin
          if nextval('fuse') = 1 then raise exception 'burnt'; end if;
          return null; end $$;
        create trigger burns after insert on reservations for each row execute function burn();
        """)
    }
    let generations = "select count(*) from meta where name = 'ledger_names'"
    await #expect(throws: DatabaseError.self) {
      _ = try await ledger.admit(request(1, charges: [Requests.daily(5)]))
    }
    #expect(try await fixture.number("select last_value from fuse") == 1)
    #expect(try await fixture.number(generations) == 0)
    #expect(try await fixture.number("select count(*) from periods") == 0)
    for counter in 2...3 {
      #expect(try await ledger.admit(request(counter, charges: [Requests.daily(5)])).isAdmitted)
    }
    #expect(try await fixture.number(generations) == 1)
    let used = "select used from lines l join periods p on p.id = l.period and p.rule = l.rule"
    #expect(try await fixture.number(used) == 2)
    #expect(try await fixture.number("select count(*) from lines") == 1)
  }

  @Test(
    "An alarm at a settlement elsewhere says whose limit it is, and does not name a user who is forgotten")
  func owners() async throws {
    let fixture = try await NodeFixture(nodes: 3, statementTimeout: 60_000)
    let (first, second, third) = (fixture.nodes[0], fixture.nodes[1], fixture.nodes[2])
    try await first.database.write { transaction in
      try await transaction.script(
        """
        insert into event_endpoints (id, url) values (1, 'https://app.example/hooks');
        insert into event_subscriptions (endpoint, type) values (1, 'budget.reached');
        """)
    }
    let user = AccountFixture.id(1).description
    let kinds: [(Subject, LineSubject)] = [
      (.user, .named(.user, user)), (.everyone, .named(.everyone, "")),
      (.address("192.0.2.7"), .named(.address, "192.0.2.7")),
    ]
    func spend(_ number: Int) async throws -> Settlement {
      var request = Requests.make(
        .none, id: number,
        charges: kinds.enumerated().map { place, kind in
          Charge(
            subject: kind.0, rule: "b\(place)", amount: 10,
            limit: .window(Requests.day, limit: 100, unit: .money), alarms: true)
        })
      request.user = KeyUser(id: user, changes: [])
      #expect(try await first.ledger.admit(request).isAdmitted)
      return Settlement(id: request.id, outcome: .used(cost: number == 1 ? 50 : 30), now: Requests.now)
    }
    #expect(try await second.ledger.settle(try await spend(1)))
    let told = await second.ledger.takeAlarms()
    #expect(told.map(\.subject) == kinds.map(\.1))
    #expect(told.map(\.rule) == ["b0", "b1", "b2"])
    #expect(told.map(\.share) == [50, 50, 50])
    let users = "select count(*) from outgoing_events where user_id = '\(user)'"
    #expect(try await fixture.number(users) == 1)
    // Both nodes have seen the name.
    let settlements = [try await spend(2), try await spend(3)]
    _ = try await third.database.write { transaction in
      try await transaction.execute(
        "update subjects set name = 'deleted ' || id where name = $1", [.text(user)])
    }
    for (node, settlement) in zip([first, second], settlements) {
      #expect(try await node.ledger.settle(settlement))
      #expect(await node.ledger.takeAlarms().count == 3)
    }
    #expect(try await fixture.number(users) == 1)
    #expect(try await fixture.number("select count(*) from outgoing_events") == 9)
  }
}
