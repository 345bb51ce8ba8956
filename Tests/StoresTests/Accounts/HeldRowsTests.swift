import Accounts
import Encodings
import SQL
import Testing

@testable import Stores

@Suite("What is held about a user") struct HeldRowsTests {
  @Test("every table that knows users is told of, or there is a reason why not")
  func complete() async throws {
    let fixture = try await StoreFixture(.memory)
    let tables = try await fixture.database.read { transaction in
      let tables = try await transaction.rows(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite%'"
      ) { $0.string(0) }
      var knowing: [String] = []
      for table in tables {
        let columns = try await transaction.rows("select name from pragma_table_info($1)", [.text(table)]) {
          $0.string(0)
        }
        let user = ["user_id", "session", "subject", "identity", "linking", "bearer"]
        if columns.contains(where: { user.contains($0) }) { knowing.append(table) }
      }
      return knowing
    }
    let told = Set(HeldRows.parts.flatMap(\.tables)).union(HeldRows.untold.keys)
    #expect(Set(tables).subtracting(told) == [])
    #expect(told.count > 12)
  }

  @Test("each list is read, and holds what is the user's alone", arguments: Backend.allCases)
  func parts(backend: Backend) async throws {
    let fixture = try await DeletionFixture(backend)
    let open = try await fixture.person(1, clients: ["c"])
    _ = try await fixture.person(2, clients: ["d"])
    let id = open.user.id
    try await fixture.accounts.base.register(1)
    let state = Wanted(user: id.description)
    _ = try await fixture.accounts.database.write {
      try await $0.execute(
        "update device_states set user_id = $1 where device = 1", [.text(state.user)])
    }
    let held = try JSONReader.read(
      try await fixture.accounts.users.held(about: id).bytes)
    #expect(held.members?.map(\.name) == HeldRows.parts.map(\.name))
    #expect(held["sessions"]?.elements?.map { $0["id"]?.string } == [open.session.id.description])
    #expect(held["sessions"]?.elements?.first?["refresh_token"]?.string?.contains("not kept") == true)
    #expect(held["apple_refresh_tokens"]?.elements?.map { $0["client_id"]?.string } == ["c"])
    #expect(held["apple_refresh_tokens"]?.elements?.first?["token"]?.string == "kept encrypted")
    #expect(held["audit_log"]?.elements?.count == 1)
    if backend != .postgreSQL { #expect(held["devices"]?.elements?.count == 1) }
    let nobody = try JSONReader.read(
      try await fixture.accounts.users.held(about: AccountFixture.id(999)).bytes)
    #expect(nobody.members?.allSatisfy { $0.value.elements?.isEmpty == true } == true)
  }

  private struct Wanted: Sendable { let user: String }
}
