import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("The attacker's playbook, whichever way and on every database") struct PlaybookTests {
  @Test(
    "RULES §5.2: who leaves, provokes errors or asks for what has no bound passes no ceiling, and the books cover the bill",
    arguments: Way.allCases, ServerBackend.allCases)
  func money(_ way: Way, _ backend: ServerBackend) async throws {
    let play = try await Playbook(way, on: backend)
    let phone = try await play.server.phone()
    for stream in way.streams { #expect(try await play.ask("hello", by: phone, stream: stream) == 200) }
    // What came whole is booked as it was billed.
    #expect(try await play.audit("honest") == play.billed())

    for (turn, prompt) in ["[simulate: tokens 60]", "[simulate: thinking] [simulate: tokens 60]"].enumerated()
    where way.streams.contains(true) {
      for pieces in 0..<4 { try await play.leave(prompt, by: phone, afterPieces: pieces) }
      try await play.audit("left a stream \(turn)")
    }
    if way.streams.contains(false) {
      let before = try await play.audit("before")
      for _ in 0..<3 {
        try await play.leaveBeforeTheHead("[simulate: delay 20ms] [simulate: tokens 60]", by: phone)
      }
      #expect(try await play.audit("left before the head") > before)
    }
    for instruction in [
      "error 400", "error 422", "error 429", "error 500", "error 529", "drop after 1",
      "no usage", "gzip",
      "redirect", "error 500 after 1", "usage 1 1", "units 0", "bytes 1", "lost",
    ] {
      for stream in way.streams {
        let status = try await play.ask("[simulate: \(instruction)]", by: phone, stream: stream)
        #expect(status != 500 && status != 401 && status != 429, "\(instruction)")
      }
      try await play.audit(instruction)
    }
    let (booked, asked) = (try await play.audit("before"), play.asked)
    for request in way.unbounded {
      let status = try await play.server.send(try await phone.sign(request)).status
      #expect([400, 413].contains(status), "\(status)")
    }
    #expect(try await play.audit("without bound") == booked)
    #expect(play.asked == asked)
  }

  @Test(
    "the ceiling ends a flood of calls, left and whole, and is never passed", arguments: Playbook.cases)
  func ceiling(_ way: Way, _ backend: ServerBackend) async throws {
    let play = try await Playbook(way, on: backend, ceiling: 12_000_000_000)
    let phones = [try await play.server.phone(), try await play.server.phone()]
    let stream = way.streams.contains(true)
    var statuses: [Int] = []
    for _ in 0..<40 where !statuses.contains(429) {
      statuses += try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<12 {
          group.addTask {
            let request = try await play.signed(
              "[simulate: tokens 60]", by: phones[number % 2], stream: stream)
            let response = try await play.server.send(request)
            if number.isMultiple(of: 3), case .stream(let body, _) = response.body.content {
              _ = try? await body.next()
              body.cancel()
            } else {
              _ = try? await response.body.collect(upTo: 1 << 22)
            }
            return response.status
          }
        }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
    }
    #expect(statuses.contains(200) && statuses.contains(429), "\(statuses.count)")
    try await play.audit("flood")
  }

  @Test(
    "RULES §4.3, §5.1: installing again, deleting and coming back, and a second account on the phone refill nothing",
    arguments: Playbook.cases)
  func identities(_ way: Way, _ backend: ServerBackend) async throws {
    let play = try await Playbook(
      way, on: backend,
      quotas: [
        .init(name: "mine", subject: .user, limit: 3), .init(name: "phone", subject: .key, limit: 4),
        .init(name: "house", subject: .address, limit: 11),
      ])
    let server = play.server
    var ada = try await play.apple.signIn()
    var admitted = 0
    func ask(_ phone: Phone, _ session: ClientSession?) async throws -> Int {
      let status = try await play.ask("hello", by: phone, stream: way.streams.contains(true), as: session)
      if status == 200 { admitted += 1 } else { #expect(status == 429) }
      return status
    }
    // Installed again for each call.
    for _ in 0..<5 { _ = try await ask(try await server.phone(), ada) }
    #expect(admitted == 3)
    for _ in 0..<3 {
      #expect(try await play.apple.delete(ada).status == 200)
      ada = try await play.apple.signIn()
      #expect(try await ask(try await server.phone(), ada) == 429)
    }
    // Two accounts on one phone: each has its own, and the phone has no more than a phone has.
    let (phone, grace) = (try await server.phone(), try await play.apple.signIn(AppleServer.grace))
    #expect(try await ask(phone, ada) == 429)
    for _ in 0..<2 { #expect(try await ask(phone, grace) == 200) }
    let third = try await play.apple.server.signUp()
    for _ in 0..<2 { #expect(try await ask(phone, third) == 200) }
    #expect(try await ask(phone, third) == 429, "the phone's")
    #expect(try await ask(phone, ada) == 429)
    #expect(admitted == 7)
    // Nobody signs in: a house has what a house has.
    for _ in 0..<6 { _ = try await ask(try await server.phone(), nil) }
    #expect(admitted == 11)
    try await play.audit("identities")
  }
}
