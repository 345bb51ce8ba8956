import Accounts
import BramleyTesting
import Encodings
import SQL
import Stores
import Testing

@Suite("Deletions and an app's own tables", TestPostgres.required) struct AppTableTests {
  private typealias Fixture = DeletionFixture
  private let now = DeletionFixture.now

  private func refusal(_ fixture: Fixture, _ open: OpenSession) async throws -> String? {
    guard case .blocked(let what)? = try await fixture.store.begin(Fixture.request(open.user.id)).refusal
    else { return nil }
    #expect(try await fixture.user(open.user.id)?.deletingSince == nil)
    #expect(try await fixture.accounts.count("deletions") == 0)
    return what
  }

  @Test("RULES §4.1: a reference that is checked no sooner than at the commit blocks as well")
  func deferred() async throws {
    let fixture = try await Fixture(.postgreSQL)
    let open = try await fixture.person()
    try await fixture.appTable("orders", "deferrable initially deferred", of: open.user.id)
    #expect(try await refusal(fixture, open)?.contains("orders") == true)
    // Others' transactions on the same connection are as they were.
    _ = try await fixture.accounts.signUp(9)
    _ = try await fixture.accounts.database.write { try await $0.execute("delete from orders") }
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    _ = try await fixture.accounts.database.write {
      try await $0.execute("insert into orders (id, owner) values (2, $1)", [.uuid(open.user.id.octets)])
    }
    let late = try await fixture.store.finish(begun.id, now: now).refusal
    if case .blocked? = late {} else { Issue.record("\(String(describing: late))") }
    #expect(try await fixture.user(open.user.id) != nil)
  }

  @Test("RULES §4.1: a trigger of the app's blocks as well, and what triggers did in the trial is undone")
  func triggers() async throws {
    let fixture = try await Fixture(.postgreSQL)
    let open = try await fixture.person()
    try await fixture.appTable("notes", "on delete cascade", of: open.user.id)
    try await fixture.accounts.database.write {
      try await $0.script(
        """
        create table farewells (owner uuid);
        create function farewell() returns trigger language plpgsql as $f$
          begin insert into farewells values (old.owner); return old; end $f$;
        create trigger farewell after delete on notes for each row execute function farewell();
        create function refuse() returns trigger language plpgsql as $f$
          begin raise exception 'not while an order is open'; end $f$;
        create trigger refuse before delete on users for each row execute function refuse();
        """)
    }
    #expect(try await refusal(fixture, open)?.contains("an order is open") == true)
    try await fixture.accounts.database.write { try await $0.script("drop trigger refuse on users") }
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    #expect(try await fixture.accounts.count("farewells") == 0)
    #expect(try await fixture.accounts.count("notes") == 1)
    _ = try await fixture.store.finish(begun.id, now: now).get()
    #expect(try await fixture.accounts.count("farewells") == 1)
    #expect(try await fixture.accounts.count("notes") == 0)
  }

  @Test("references that null or cascade do not block")
  func rules() async throws {
    let fixture = try await Fixture(.postgreSQL)
    let open = try await fixture.person()
    try await fixture.accounts.database.write {
      try await $0.script(
        """
        create table likes (id bigint primary key, owner uuid references users (id) on delete set null);
        """)
      try await $0.execute("insert into likes values (1, $1)", [.uuid(open.user.id.octets)])
    }
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    _ = try await fixture.store.finish(begun.id, now: now).get()
    #expect(try await fixture.accounts.count("likes") == 1)
    #expect(try await fixture.user(open.user.id) == nil)
  }
}
