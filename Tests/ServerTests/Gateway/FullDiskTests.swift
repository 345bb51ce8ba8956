import BramleyTesting
import HTTPMessages
import SQL
import Testing

@testable import Server

@Suite("A database without room") struct FullDiskTests {
  @Test(
    "requests and registrations get 503 with Retry-After, count nothing, and pass again when there is room")
  func full() async throws {
    let server = try await WholeServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 1_000)] }
    let phone = try await server.phone()
    #expect(try await phone.ask().status == 200)
    let before = try #require(try await server.remaining(phone, "daily"))
    try await server.database.write { transaction in
      let pages = try await transaction.first("pragma page_count") { $0.int64(0) } ?? 0
      try await transaction.script("pragma max_page_count = \(pages)")
    }
    var (passed, refused) = (Int64(0), 0)
    for _ in 0..<400 where refused < 10 {
      let response = try await phone.ask()
      if response.status == 200 {
        passed += 1
        continue
      }
      #expect(response.fields["retry-after"] == "5")
      #expect(try await Outcome(response) == Outcome(503, "unavailable"))
      refused += 1
    }
    #expect(refused == 10)
    // A registration needs more room than a request: it cannot pass either.
    var registration: Outcome?
    for _ in 0..<40 where registration?.status != 503 {
      registration = try await Outcome(Phone(server).register())
    }
    #expect(registration == Outcome(503, "unavailable"))
    #expect(server.lines.values.contains { $0.contains("no room left") })
    try await server.database.write { try await $0.script("pragma max_page_count = 1000000") }
    #expect(try await phone.ask().status == 200)
    #expect(try await server.phone().ask().status == 200)
    #expect(try await server.remaining(phone, "daily") == before - passed - 1)
  }
}
