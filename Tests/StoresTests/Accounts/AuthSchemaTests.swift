import Accounts
import BramleyTesting
import Encodings
import SQL
import Stores
import Testing

@Suite("Users for an app's own tables", TestPostgres.required) struct AuthSchemaTests {
  private typealias Fixture = AccountFixture

  @Test("an app's table references users by uuid, and its rows go with the user")
  func cascade() async throws {
    let fixture = try await Fixture(.postgreSQL)
    let open = try await fixture.signUp(1)
    try await fixture.database.write { transaction in
      try await transaction.script(
        """
        create table notes (id uuid primary key default gen_random_uuid(),
          owner uuid not null references users on delete cascade, text text not null);
        """)
      _ = try await transaction.execute(
        "insert into notes (owner, text) values ($1, 'x')", [.uuid(open.user.id.octets)])
    }
    #expect(try await fixture.count("notes") == 1)
    #expect(try await fixture.delete(open.user.id, now: Fixture.now))
    #expect(try await fixture.count("notes") == 0)
  }

  @Test("uid() is the user of the request's claims, and nobody without them")
  func uid() async throws {
    let fixture = try await Fixture(.postgreSQL)
    let id = Fixture.id(7)
    func uid(_ settings: [(String, String)]) async throws -> String? {
      try await fixture.database.read { transaction in
        for (name, value) in settings {
          _ = try await transaction.rows("select set_config($1, $2, true)", [.text(name), .text(value)]) {
            _ in
          }
        }
        return try await transaction.first("select uid()::text") { $0.optionalString(0) } ?? nil
      }
    }
    #expect(try await uid([]) == nil)
    #expect(try await uid([("request.jwt.claims", "")]) == nil)
    #expect(try await uid([("request.jwt.claims", "{\"role\":\"anon\"}")]) == nil)
    #expect(try await uid([("request.jwt.claims", "{\"sub\":\"\(id)\"}")]) == id.description)
    #expect(
      try await uid([("request.jwt.claim.sub", "\(id)"), ("request.jwt.claims", "{}")]) == id.description)
  }

  @Test("RULES §3.11: anon and authenticated use the schema and uid(), and nothing else in it")
  func grants() async throws {
    // A server of its own: roles are the whole server's.
    let server = try #require(TestPostgres())
    let settings = StoreFixture.postgres(server.url)
    let database = try Database(.postgreSQL(settings))
    defer { database.close() }
    try await database.write {
      try await $0.script("create role anon; create role authenticated; create role other")
    }
    try await Schema.migrate(database, now: 1)
    let asked = """
      select has_schema_privilege(r, current_schema(), 'usage'),
        has_schema_privilege(r, current_schema(), 'create'),
        has_function_privilege(r, 'uid()', 'execute'),
        exists (select 1 from pg_tables where schemaname = current_schema() and
          has_table_privilege(r, quote_ident(schemaname) || '.' || quote_ident(tablename),
            'select, insert, update, delete, references'))
      from unnest(array['anon', 'authenticated', 'other']) r
      """
    let rights = try await database.read {
      try await $0.rows(asked) { row in (0..<4).map { row.bool(Int32($0)) } }
    }
    let granted = [true, false, true, false]
    #expect(rights == [granted, granted, [false, false, false, false]])
  }
}
