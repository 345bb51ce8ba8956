import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct ReplayTests {
  private let replayed = Outcome(401, "counter_replayed")

  @Test("RULES §1.5: a request passes once")
  func once() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.question())
    #expect(try await server.send(request).status == 200)
    for _ in 0..<3 { #expect(try await Outcome(server.send(request)) == replayed) }
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("RULES §1.5: a replay fails also after a quota refusal")
  func afterRefusal() async throws {
    let server = try await WholeServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 0)] }
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.question())
    #expect(try await Outcome(server.send(request)) == Outcome(429, "quota_exceeded"))
    #expect(try await Outcome(server.send(request)) == replayed)
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §1.5: a replay fails also after a policy's refusal")
  func afterPolicy() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.question(model: "claude-opus-5"))
    #expect(try await server.send(request).status == 400)
    #expect(try await Outcome(server.send(request)) == replayed)
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §1.5: 100 parallel requests of one key all pass in any order, and no replay does")
  func parallel() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var requests: [HTTPRequest] = []
    for index in 0..<100 { requests.append(try await phone.sign(Phone.question("number \(index)"))) }
    let shuffled = requests.shuffled()
    let passed = try await statuses(server, shuffled)
    #expect(passed.filter { $0 == 200 }.count == 100)
    let again = try await statuses(server, shuffled + shuffled.reversed())
    #expect(again.allSatisfy { $0 == 401 })
    #expect(server.upstreamRequests.values.count == 100)
  }

  @Test("RULES §1.5: of many sendings at once of one request one passes")
  func race() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.question())
    let all = try await statuses(server, Array(repeating: request, count: 50))
    #expect(all.filter { $0 == 200 }.count == 1)
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("a strict server takes counters in order alone")
  func strict() async throws {
    let server = try await WholeServer { $0.attest.counterWindow = 0 }
    let phone = try await server.phone()
    let first = try await phone.sign(Phone.question())
    let second = try await phone.sign(Phone.question())
    #expect(try await server.send(second).status == 200)
    #expect(try await Outcome(server.send(first)) == replayed)
  }

  @Test("a device whose counter went back is refused until it has caught up")
  func back() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for _ in 0..<3 { #expect(try await phone.ask().status == 200) }
    _ = await phone.device.setCounter(0, of: phone.keyID)
    for _ in 0..<3 { #expect(try await Outcome(phone.ask()) == replayed) }
    #expect(try await phone.ask().status == 200)
  }

  private func statuses(_ server: WholeServer, _ requests: [HTTPRequest]) async throws -> [Int] {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for request in requests {
        group.addTask {
          let response = try await server.send(request)
          _ = try await response.body.collect(upTo: 1 << 20)
          return response.status
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}
