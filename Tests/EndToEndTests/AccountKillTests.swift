import BramleyTesting
import Foundation
import SQL
import System
import Testing
import Transport

@Suite("kill -9 amid sign-ins", .serialized)
struct AccountKillTests {
  @Test("RULES §3.4, §3.6: nobody loses an account, and nobody has two, whatever the server was doing")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    var server = try await DevelopmentServer()
    var people: [Person] = []
    var unanswered: [String: Int] = [:]
    for kill in 1...Killing.times {
      let app = AccountApp(network, bases: [server.base])
      let program = server.program
      let first = people.count
      people += await withTaskGroup(of: [Person].self) { group in
        for worker in 0..<4 { group.addTask { await app.live("\(kill)-\(worker)") } }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 100...900)))
        program.kill(SIGKILL)
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(try await program.exitCode() == SIGKILL)
      #expect(people[first...].compactMap(\.refusal) == [])
      try OnlineCopy.check(server.folder.path("data") + "/bramley.sqlite")

      server = try await DevelopmentServer(after: server)
      for index in people.indices[first...] {
        if let pending = people[index].pending { unanswered[pending.name, default: 0] += 1 }
        people[index] = try await app.comeBack(people[index])
      }
    }
    print(
      "kill -9 amid sign-ins: \(Killing.times) times, \(people.count) people, unanswered: \(unanswered)")
    #expect(people.count > Killing.times)

    let database = try Database(.readOnlyFile(server.folder.path("data") + "/bramley.sqlite"))
    defer { database.close() }
    let counts = try await database.read {
      try await $0.rows(
        """
        select count(*), sum(is_anonymous),
          (select count(*) from identities), (select count(distinct user_id) from identities),
          (select count(*) from apple_tokens)
        from users
        """
      ) { row in (0..<5).map { row.int(Int32($0)) } }
    }
    let count = try #require(counts.first)
    let known = people.filter(\.hasIdentity).count
    #expect(count[2] == known)
    #expect(count[3] == known)
    #expect(count[0] - count[1] == known)
    // A sign-up whose answer was lost leaves an anonymous user that nobody knows: nothing tells who it was.
    let guests = people.count { $0.userID != nil && !$0.hasIdentity }
    #expect((guests...guests + unanswered["sign-up", default: 0]).contains(count[1]))
    let log = server.program.errorText.split(separator: "\n").filter { $0.contains("apple_") }
    // A code that could not be exchanged fails no sign-in, and says so.
    #expect(count[4] > 0 || !log.isEmpty)
    #expect(try await server.stop() == 0)
  }
}

@Suite("kill -9 of one of two nodes amid sign-ins", TestPostgres.required)
struct NodeAccountKillTests {
  @Test("RULES §3.4, §3.6: what one node answered the other knows, by sign-up, sign-in, link and refresh")
  func killed() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let postgres = try #require(TestPostgres())
    let nodes = try await Nodes(database: postgres.url)
    var people: [Person] = []
    for kill in 1...max(Killing.times / 2, 2) {
      let victim = kill % 2
      let program = nodes.programs[victim]
      let app = AccountApp(network, bases: nodes.bases, appleDoors: nodes.appleDoors)
      let met = await withTaskGroup(of: [Person].self) { group in
        for worker in 0..<4 { group.addTask { await app.live("\(kill)-\(worker)") } }
        try? await Task.sleep(for: .milliseconds(Int.random(in: 100...600)))
        program.kill(SIGKILL)
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(try await program.exitCode() == SIGKILL)
      #expect(met.compactMap(\.refusal) == [])
      let living = AccountApp(network, bases: [nodes.bases[1 - victim]], appleDoors: nodes.appleDoors)
      for person in met { people.append(try await living.comeBack(person)) }
      try await nodes.restart(victim)
    }
    #expect(people.count > 4)
    let all = AccountApp(network, bases: nodes.bases, appleDoors: nodes.appleDoors)
    for person in people { _ = try await all.comeBack(person) }
    print("kill -9 of a node amid sign-ins: \(people.count) people")
    let database = try Database(.postgreSQL(PostgresSettings(url: postgres.url)))
    let counts = try await database.read {
      try await $0.rows(
        "select (select count(*) from identities), (select count(distinct user_id) from identities)"
      ) { [$0.int(0), $0.int(1)] }
    }
    database.close()
    let known = people.filter(\.hasIdentity).count
    #expect(counts == [[known, known]], "nobody has two accounts")
    #expect(known > 0)
    try await nodes.stop()
  }
}
