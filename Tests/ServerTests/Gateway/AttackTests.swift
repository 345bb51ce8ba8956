import Admission
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// What somebody tries who wants more than their share. The ceiling holds, and what is booked is never less than
/// what the provider bills.
@Suite("The attacker's playbook") struct AttackTests {
  static let haiku = PriceTable.shipped.row(provider: "anthropic", model: "claude-haiku-4-5", at: .max)
  static let ceiling: Int64 = 20_000_000_000

  private func server() async throws -> WholeServer {
    try await WholeServer {
      $0.quotas = []
      $0.budgets = [.init(name: "money", subject: .everyone, limit: Self.ceiling)]
    }
  }

  /// What the provider bills, in pico-dollars.
  private func billed(_ server: WholeServer) throws -> Int64 {
    let billing = server.anthropic.billing
    let usage = TokenUsage(input: Int64(billing.inputTokens), output: Int64(billing.outputTokens))
    return try #require(Self.haiku?.cost(of: usage))
  }

  /// Checks the books after an attack: nothing is held, the sums agree, and they cover the bill.
  private func audit(_ server: WholeServer) async throws {
    let booked = try await server.usage().map(\.cost).reduce(0, +)
    let rows = try await server.database.read {
      try await $0.rows(
        "select used, held from lines l join rules r on r.id = l.rule where r.name = 'money'"
      ) { ($0.int64(0), $0.int64(1)) }
    }
    #expect(rows.reduce(0) { $0 + $1.0 } == booked)
    #expect(rows.allSatisfy { $0.1 == 0 })
    #expect(booked <= Self.ceiling)
    #expect(try booked >= billed(server), "booked \(booked)")
    #expect(
      try await server.database.read {
        try await $0.first("select count(*) from reservations") { $0.int64(0) }
      }
        == 0)
  }

  private func stream(_ phone: Phone, _ prompt: String, pulling pieces: Int) async throws -> Int {
    let response = try await phone.ask(prompt, stream: true)
    guard response.status == 200, case .stream(let body, _) = response.body.content else {
      _ = try await response.text
      return response.status
    }
    for _ in 0..<pieces { _ = try await body.next() }
    body.cancel()
    await phone.server.background.drain()
    return response.status
  }

  @Test("streams that are left during thinking, or after a word, cost what they may have cost")
  func leavesStreams() async throws {
    let server = try await server()
    let phone = try await server.phone()
    var refused = false
    for turn in 0..<400 where !refused {
      let prompt =
        turn.isMultiple(of: 2) ? "[simulate: thinking] [simulate: tokens 60]" : "[simulate: tokens 60]"
      refused = try await stream(phone, prompt, pulling: turn % 5) == 429
    }
    #expect(refused)
    try await audit(server)
  }

  @Test("calls without a stream that are left before their answer cost the reserve")
  func leavesAnswers() async throws {
    let server = try await server()
    let phone = try await server.phone()
    for _ in 0..<5 {
      let request = try await phone.sign(Phone.question("[simulate: delay 20ms] [simulate: tokens 60]"))
      let before = server.upstreamRequests.values.count
      await withTaskGroup(of: Void.self) { group in
        group.addTask { _ = try? await server.send(request) }
        while server.upstreamRequests.values.count == before { await Task.yield() }
        group.cancelAll()
      }
    }
    let rows = try await server.usage()
    #expect(rows.count == 5 && rows.allSatisfy { $0.cost > 0 && $0.estimated })
    try await audit(server)
  }

  @Test(
    "errors that are provoked release money only where the provider bills nothing, and counts five times a day"
  )
  func provokesErrors() async throws {
    let server = try await WholeServer {
      $0.quotas = [.init(name: "daily", subject: .key, limit: 12)]
      $0.budgets = [.init(name: "money", subject: .everyone, limit: Self.ceiling)]
    }
    let phone = try await server.phone()
    for number in 0..<12 {
      let instruction = [
        "error 400", "error 429", "error 500", "error 529", "drop after 3", "error 500 after 2",
      ]
      let prompt = "[simulate: \(instruction[number % 6])]"
      let response = try await phone.ask(prompt, stream: number % 6 > 3)
      _ = try? await response.text
      await server.background.drain()
    }
    // Of the six that may be given back, five were.
    #expect(try await server.remaining(phone, "daily") == 5)
    try await audit(server)
  }

  @Test("a PDF of 100 blank pages, and what else cannot be bounded, is refused, and costs nothing")
  func unbounded() async throws {
    let server = try await server()
    let phone = try await server.phone()
    let pdf = Base64.encode(Array("%PDF-1.4 100 blank pages".utf8))
    for source in [
      #"{"type":"base64","media_type":"application/pdf","data":"\#(pdf)"}"#,
      #"{"type":"url","url":"https://example.com/100.pdf"}"#, #"{"type":"file","file_id":"file_1"}"#,
    ] {
      var request = Phone.question()
      request.body = HTTPBody(
        """
        {"model":"claude-haiku-4-5","max_tokens":64,"messages":[{"role":"user","content":[
          {"type":"document","source":\(source)},{"type":"text","text":"summarise"}]}]}
        """)
      #expect(try await server.send(try await phone.sign(request)).status == 400)
    }
    #expect(server.anthropic.billing.calls == 0)
    #expect(try await server.usage().isEmpty)
    try await audit(server)
  }

  @Test(
    "RULES §5.2: 200 at once on one budget and one quota, with streams left, errors and calls left: nothing is passed or lost, and the books cover the bill"
  )
  func race() async throws {
    let server = try await WholeServer {
      $0.quotas = [.init(name: "all", subject: .everyone, limit: 150)]
      $0.budgets = [.init(name: "money", subject: .everyone, limit: Self.ceiling)]
    }
    var requests: [HTTPRequest] = []
    let prompts = [
      "hello", "[simulate: tokens 60]", "[simulate: thinking]", "[simulate: error 529]",
      "[simulate: error 400]",
      "[simulate: drop after 2]", "[simulate: no usage]", "[simulate: delay 5ms]",
    ]
    let phones = [try await server.phone(), try await server.phone(), try await server.phone()]
    for number in 0..<200 {
      requests.append(
        try await phones[number % 3].sign(
          Phone.question(prompts[number % prompts.count], stream: number % 3 != 0)))
    }
    let statuses = await withTaskGroup(of: Int.self) { group in
      for (number, request) in requests.enumerated() {
        group.addTask {
          guard let response = try? await server.send(request) else { return 0 }
          if number.isMultiple(of: 7), case .stream(let body, _) = response.body.content {
            _ = try? await body.next()
            body.cancel()
          } else {
            _ = try? await response.body.collect(upTo: 1 << 20)
          }
          return response.status
        }
      }
      return await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(statuses.contains(200) && statuses.contains(429))
    try await audit(server)
    let counted = try await server.database.read {
      try await $0.first(
        "select used, held from lines l join rules r on r.id = l.rule where r.name = 'all'"
      ) { ($0.int64(0), $0.int64(1)) }
    }
    #expect(try #require(counted).0 <= 150)
    #expect(try #require(counted).1 == 0)
    // Every call that was let in has one row, and no other has.
    let rows = try await server.usage()
    #expect(rows.count <= statuses.count { $0 != 429 } && rows.count >= statuses.count { $0 == 200 })
  }
}
