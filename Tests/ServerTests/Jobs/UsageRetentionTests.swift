import Admission
import BramleyTesting
import HTTPMessages
import Testing

@testable import Server

@Suite("Keeping usage") struct UsageRetentionTests {
  @Test("rows of calls are kept for as long as the configuration says, and then deleted")
  func retention() async throws {
    let server = try await WholeServer { $0.usageRetentionDays = 30 }
    let phone = try await server.phone()
    _ = try await phone.ask().body.collect(upTo: 1 << 16)
    #expect(try await server.usage().count == 1)
    let job = try #require(server.server.jobs.first { $0.name == "forget_usage" })
    #expect(job.nodes == .oneNode)
    server.clock.advance(seconds: 30 * 86_400 - 60)
    #expect(await job.run() == .done)
    #expect(try await server.usage().count == 1)
    server.clock.advance(seconds: 120)
    #expect(await job.run() == .done)
    #expect(try await server.usage().isEmpty)
    #expect(server.lines.values.contains { $0.contains("usage_forgotten") && $0.contains("\"count\":1") })
  }
}
