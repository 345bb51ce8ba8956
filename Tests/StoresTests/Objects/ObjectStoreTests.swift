import Accounts
import Encodings
import SQL
import Stores
import Testing
import UserData

@Suite("Objects of users") struct ObjectStoreTests {
  private static let limits = ObjectLimits(count: 10, bytes: 1 << 20)
  private static let now: Int64 = 1_800_000_000_000

  /// Number `number` of a user's, with content of so many octets.
  private func draft(
    _ number: Int, of user: UUID, size: Int = 10, origin: [UInt8]? = nil, at now: Int64 = now
  ) throws -> ObjectDraft {
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    return ObjectDraft(
      StoredObject(
        id: AccountFixture.id(90_000 + number), user: user, bucket: "functions",
        path: try #require(ObjectPath("creature/\(number).png")), contentType: .png, size: 0, origin: origin,
        createdAt: now), content: content)
  }

  private func content(of object: StoredObject, _ store: SQLObjectStore) async throws -> [UInt8] {
    var all: [UInt8] = []
    var number: Int64 = 0
    while let piece = try await store.piece(number, of: object.id) {
      #expect(!piece.isEmpty && piece.count <= 65_536)
      all += piece
      number += 1
    }
    return all
  }

  @Test("what is kept comes back octet by octet, to its owner alone", arguments: Backend.allCases)
  func roundTrip(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let (ada, grace) = (try await fixture.signUp(1).user.id, try await fixture.signUp(2).user.id)
    for (number, size) in [(1, 0), (2, 1), (3, 65_536), (4, 200_001)] {
      let draft = try draft(number, of: ada, size: size)
      #expect(try await store.put([draft], within: Self.limits) == nil)
      let found = try #require(try await store.object(draft.object.path, in: "functions", of: ada))
      #expect(found == draft.object)
      #expect(try await content(of: found, store) == draft.content)
      #expect(try await store.object(draft.object.path, in: "functions", of: grace) == nil)
      #expect(try await store.object(draft.object.path, in: "others", of: ada) == nil)
      #expect(try await store.remove([draft.object.path], in: "functions", of: grace) == [])
    }
    #expect(try await store.standing(of: ada) == ObjectStanding(count: 4, bytes: 265_538))
    #expect(try await store.standing(of: grace) == ObjectStanding())
    #expect(try await store.objects(of: grace, after: nil, limit: 10) == [])
  }

  @Test("all of a put are kept or none, within the user's limits", arguments: Backend.allCases)
  func limits(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let ada = try await fixture.signUp(1).user.id
    let limits = ObjectLimits(count: 3, bytes: 100)
    let (one, two, three) = (
      try draft(1, of: ada, size: 60), try draft(2, of: ada, size: 30), try draft(3, of: ada, size: 11)
    )
    #expect(try await store.put([one], within: limits) == nil)
    #expect(try await store.put([two, three], within: limits) == .bytes(limit: 100))
    #expect(try await store.standing(of: ada) == ObjectStanding(count: 1, bytes: 60))
    #expect(try await store.put([two], within: ObjectLimits(count: 1, bytes: 100)) == .count(limit: 1))
    #expect(try await store.put([two], within: limits) == nil)
    // What an unknown commit kept already is kept once, and takes no room a second time.
    #expect(try await store.put([two, one], within: ObjectLimits(count: 2, bytes: 90)) == nil)
    #expect(try await store.standing(of: ada) == ObjectStanding(count: 2, bytes: 90))
    var other = three
    other.object.path = one.object.path
    #expect(try await store.put([other], within: Self.limits) == .taken)
    #expect(try await store.put([], within: limits) == nil)
  }

  @Test("nothing is kept for a user who is gone or going (RULES §4.1)", arguments: Backend.allCases)
  func gone(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let ada = try await fixture.signUp(1).user.id
    #expect(try await store.put([draft(9, of: AccountFixture.id(77))], within: Self.limits) == .userGone)
    #expect(try await store.put([draft(1, of: ada)], within: Self.limits) == nil)
    _ = try await fixture.database.write { try await $0.execute("update users set deleting_since = 1") }
    #expect(try await store.put([draft(2, of: ada)], within: Self.limits) == .userGone)
    #expect(try await store.erase(of: ada) == 1)
    #expect(try await store.erase(of: ada) == 0)
    #expect(try await fixture.count("object_pieces") == 0)
  }

  @Test("with the user's row everything goes, contents too", arguments: Backend.allCases)
  func cascade(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let (ada, grace) = (try await fixture.signUp(1).user.id, try await fixture.signUp(2).user.id)
    #expect(try await store.put([draft(1, of: ada, size: 100_000)], within: Self.limits) == nil)
    #expect(try await store.put([draft(2, of: grace)], within: Self.limits) == nil)
    _ = try await fixture.database.write {
      try await $0.execute("delete from users where id = $1", [.uuid(ada.octets)])
    }
    #expect(try await fixture.count("objects") == 1)
    #expect(try await fixture.count("object_pieces") == 1)
    #expect(try await store.standing(of: grace).count == 1)
  }

  @Test("lists go on where they ended; removing tells what was there", arguments: Backend.allCases)
  func lists(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let ada = try await fixture.signUp(1).user.id
    let drafts = try (1...7).map { try draft($0, of: ada) }
    #expect(try await store.put(drafts, within: Self.limits) == nil)
    var seen: [StoredObject] = []
    while case let page = try await store.objects(of: ada, after: seen.last, limit: 3), !page.isEmpty {
      seen += page
    }
    #expect(seen == drafts.map(\.object))
    let paths = [drafts[2].object.path, try #require(ObjectPath("nothing")), drafts[4].object.path]
    let removed = try await store.remove(paths, in: "functions", of: ada)
    #expect(removed == [drafts[2].object, drafts[4].object])
    #expect(try await store.remove(paths, in: "functions", of: ada) == [])
    #expect(try await store.piece(0, of: drafts[2].object.id) == nil)
    #expect(try await store.objects(of: ada, after: nil, limit: 10).count == 5)
  }

  @Test("a folder is what begins with its name and a slash, by octets", arguments: Backend.allCases)
  func folders(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let (ada, grace) = (try await fixture.signUp(1).user.id, try await fixture.signUp(2).user.id)
    let paths = ["a-/x", "a.b", "a/B", "a/b/1", "a/b/2", "a/c", "a0", "b"]
    for (number, path) in paths.enumerated() {
      var draft = try draft(10 + number, of: ada)
      draft.object.path = try #require(ObjectPath(path))
      #expect(try await store.put([draft], within: Self.limits) == nil)
    }
    var other = try draft(40, of: grace)
    other.object.path = try #require(ObjectPath("a/grace"))
    #expect(try await store.put([other], within: Self.limits) == nil)
    func list(_ folder: String, after path: String = "", limit: Int64 = 99) async throws -> [String] {
      try await store.objects(of: ada, in: "functions", folder: folder, after: path, limit: limit)
        .map(\.path.description)
    }
    #expect(try await list("") == paths)
    #expect(try await list("a/") == ["a/B", "a/b/1", "a/b/2", "a/c"])
    #expect(try await list("a/", after: "a/B", limit: 2) == ["a/b/1", "a/b/2"])
    #expect(try await list("a/", after: "a/b/" + ObjectPath.last) == ["a/c"])
    #expect(try await list("", after: "a/" + ObjectPath.last) == ["a0", "b"])
    #expect(try await list("b/").isEmpty)
    #expect(try await store.objects(of: ada, in: "x", folder: "", after: "", limit: 9).isEmpty)
  }

  @Test(
    "what a maker made is found by its name: its last making, and the user's own", arguments: Backend.allCases
  )
  func origins(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let (ada, grace) = (try await fixture.signUp(1).user.id, try await fixture.signUp(2).user.id)
    let maker = AccountFixture.hash(5)
    let old = try draft(1, of: ada, origin: maker)
    let new = try [
      draft(2, of: ada, origin: maker, at: Self.now + 1), draft(3, of: ada, origin: maker, at: Self.now + 1),
    ]
    #expect(try await store.put([old], within: Self.limits) == nil)
    #expect(try await store.put(new, within: Self.limits) == nil)
    #expect(try await store.put([draft(4, of: ada)], within: Self.limits) == nil)
    #expect(
      try await store.put([draft(5, of: grace, origin: maker, at: Self.now + 2)], within: Self.limits) == nil)
    #expect(try await store.objects(of: ada, origin: maker) == new.map(\.object))
    #expect(try await store.objects(of: ada, origin: AccountFixture.hash(6)) == [])
  }

  @Test("of many who put at once no more are kept than there is room for", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await AccountFixture(backend)
    defer { withExtendedLifetime(fixture) {} }
    let store = SQLObjectStore(fixture.database)
    let ada = try await fixture.signUp(1).user.id
    let drafts = try (1...40).map { try draft($0, of: ada) }
    let refusals = try await withThrowingTaskGroup(of: ObjectRefusal?.self) { group in
      for draft in drafts {
        group.addTask { try await store.put([draft], within: ObjectLimits(count: 7, bytes: 1_000)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(refusals.filter { $0 == nil }.count == 7)
    #expect(refusals.filter { $0 == .count(limit: 7) }.count == 33)
    #expect(try await store.standing(of: ada) == ObjectStanding(count: 7, bytes: 70))
  }
}
