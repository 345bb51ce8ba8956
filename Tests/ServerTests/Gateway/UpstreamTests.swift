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

@Suite struct UpstreamTests {
  @Test(
    "the operator's faults are not the device's",
    arguments: [
      ("error 401", Outcome(503, "upstream_failed")), ("error 402", Outcome(503, "upstream_failed")),
      ("error 403", Outcome(503, "upstream_failed")), ("error 429", Outcome(529, "upstream_busy")),
      ("error 529", Outcome(529, "upstream_busy")), ("error 500", Outcome(502, "upstream_failed")),
      ("redirect", Outcome(502, "upstream_failed")), ("error 404", Outcome(404, "upstream_refused")),
      ("error 503", Outcome(503, "upstream_busy")), ("gzip", Outcome(502, "upstream_failed")),
    ])
  func mapping(_ instruction: String, _ outcome: Outcome) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.ask("[simulate: \(instruction)]")
    #expect(response.fields[AttestFields.nextChallenge] != nil)
    #expect(response.fields["location"] == nil)
    let body = try await response.body.collect(upTo: 10_000)
    #expect(Outcome(response.status, ErrorAnswer(body: body).code?.rawValue ?? "") == outcome)
    #expect(!String(decoding: body, as: UTF8.self).contains("simulate"))
    #expect(server.lines.values.contains { $0.contains("\"code\":\"\(outcome.code)\"") })
    #expect(server.server.metrics.text.contains("bramley_errors_total{code=\"\(outcome.code)\"} 1"))
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows.first?.status == outcome.status)
    let isOperators = ["error 401", "error 402", "error 403", "redirect", "gzip"].contains(instruction)
    #expect(server.lines.values.contains { $0.contains("\"event\":\"alarm\"") } == isOperators)
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test(
    "RULES §5.4: the day's count comes back for the provider's failures, five times a day, not for the caller's"
  )
  func givenBack() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await phone.ask("[simulate: error 404]")
    #expect(try await server.remaining(phone, "daily") == 99)
    for _ in 0..<6 { _ = try await phone.ask("[simulate: error 529]") }
    #expect(try await server.remaining(phone, "daily") == 98)
    #expect(try await server.remaining(phone, "money") == 1_000_000_000_000)
  }

  @Test("RULES §6.4: the key is in no answer and no log, even when the upstream says it")
  func echo() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for (prompt, stream) in [
      ("[simulate: echo key]", true), ("[simulate: echo key] [simulate: bytes 1]", true),
      ("[simulate: echo key]", false), ("[simulate: echo key] [simulate: error 400]", false),
      ("[simulate: echo key] [simulate: error 500]", false),
    ] {
      let response = try await phone.ask(prompt, stream: stream)
      var seen = "\(response.fields)"
      do {
        if case .stream(let body, _) = response.body.content {
          while let chunk = try await body.next() { seen += String(decoding: chunk, as: UTF8.self) }
        } else {
          seen += try await response.text
        }
      } catch HTTPBodyError.incomplete {}
      #expect(!seen.contains(WholeServer.apiKey))
      #expect(!seen.contains(WholeServer.apiKey.dropFirst(7)))
    }
    await server.background.drain()
    #expect(!server.lines.values.joined().contains(WholeServer.apiKey))
    #expect(server.lines.values.contains { $0.contains("secret_in_answer") })
    #expect(try await server.usage().count == 5)
  }

  @Test("a request of which nothing was written is sent once more, and no other")
  func retries() async throws {
    let once = Counter()
    let server = try await WholeServer(
      upstream: { _ in
        once.add()
        if once.value == 1 { throw HTTPClientError.connect }
        return HTTPResponse(
          status: 200, fields: ["content-type": "application/json"],
          body: HTTPBody(#"{"usage":{"input_tokens":1,"output_tokens":1}}"#))
      })
    #expect(try await server.phone().ask().status == 200)
    #expect(once.value == 2)

    let never = try await WholeServer(upstream: { _ in throw HTTPClientError.connect })
    let phone = try await never.phone()
    #expect(try await phone.ask().status == 503)
    #expect(never.upstreamRequests.values.count == 2)
    #expect(try await never.remaining(phone, "daily") == 100)
    #expect(try await never.remaining(phone, "money") == 1_000_000_000_000)

    let lost = try await WholeServer(upstream: { _ in throw HTTPClientError.interrupted })
    let unlucky = try await lost.phone()
    let response = try await unlucky.ask()
    #expect(response.status == 502)
    #expect(response.fields["x-should-retry"] == "false")
    #expect(lost.upstreamRequests.values.count == 1)
    let row = try #require(try await lost.usage().first)
    #expect(row.cost > 0 && row.estimated, "RULES §5.2: what may have been billed is booked")
  }

  @Test("RULES §5.2: a client that leaves pays for what was made, and the provider is told to stop")
  func leaves() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.ask("[simulate: tokens 60] [simulate: pace 1ms]", stream: true)
    guard case .stream(let body, _) = response.body.content else {
      Issue.record("no stream")
      return
    }
    for _ in 0..<3 { _ = try await body.next() }
    body.cancel()
    let row = try #require(try await server.usage().first)
    #expect(server.anthropic.billing.openStreams == 0)
    #expect(server.anthropic.billing.abortedStreams == 1)
    #expect(row.estimated && row.cost > 0 && row.status == 200)
    #expect(row.inputTokens == Int64(server.anthropic.billing.inputTokens))
    #expect(try await server.remaining(phone, "money") == 1_000_000_000_000 - row.cost)
    #expect((try? await body.next()) == nil)
    #expect(try await server.usage().count == 1, "settled once")
    #expect(
      server.lines.values.contains { $0.contains("\"event\":\"request\"") && $0.contains(Phone.messages) })
  }

  @Test("RULES §5.2: a client that leaves before the head pays the reserve")
  func leavesEarly() async throws {
    let server = try await WholeServer(upstream: { _ in
      try await Task.sleep(for: .seconds(60))
      return HTTPResponse(status: 500)
    })
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.question())
    let wasCancelled = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        do {
          _ = try await server.send(request)
          return false
        } catch {
          return error is CancellationError
        }
      }
      while server.upstreamRequests.values.isEmpty { await Task.yield() }
      group.cancelAll()
      return await group.next()
    }
    #expect(wasCancelled == true)
    let row = try #require(try await server.usage().first)
    #expect(row.estimated && row.cost > 0 && row.status == 499)
    #expect(try await server.remaining(phone, "in-flight") == nil)
    #expect(try await phone.server.remaining(phone, "money") == 1_000_000_000_000 - row.cost)
  }

  @Test("an exchange that its own client cancelled is a caller that left", arguments: [true, false])
  func cancelled(_ written: Bool) async throws {
    let server = try await WholeServer(upstream: { _ in
      throw HTTPClientError.cancelled(requestWritten: written)
    })
    let phone = try await server.phone()
    await #expect(throws: CancellationError.self) { try await phone.ask() }
    let row = try #require(try await server.usage().first)
    #expect(server.upstreamRequests.values.count == 1)
    #expect(row.status == 499 && (row.cost > 0) == written)
    #expect(try await server.remaining(phone, "daily") == 99, "RULES §5.4: a caller that leaves counts")
  }

  @Test("a stream that breaks is cut, so that nobody takes it for whole")
  func cut() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.ask("[simulate: drop after 3]", stream: true)
    await #expect(throws: HTTPBodyError.incomplete) { try await response.body.collect(upTo: 1 << 20) }
    let row = try #require(try await server.usage().first)
    #expect(row.estimated && row.cost > 0)
  }

  @Test("RULES §5.2: an actual above the reserve is booked, told, and closes the model")
  func above() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await phone.ask("[simulate: usage 900000 64]").text
    let row = try #require(try await server.usage().first)
    #expect(row.inputTokens == 900_000 && !row.estimated)
    #expect(server.lines.values.contains { $0.contains("cost_above_reserve") })
    let after = try await phone.ask()
    #expect(try await Outcome(after) == Outcome(503, "upstream_unavailable"))
    let other = try await server.send(try await phone.sign(Phone.question(model: "claude-sonnet-5-5")))
    #expect(other.status != 503)
    // It is closed in the database, and opens when an operator has looked.
    let closures = SQLModelClosureStore(server.database)
    let closed = try #require(try await closures.closures().first)
    #expect(closed.model == ProviderModel(provider: "anthropic", name: "claude-haiku-4-5"))
    #expect(closed.cost == row.cost && closed.reserve < closed.cost)
    #expect(try await closures.reopen(closed.model))
    #expect(try await phone.ask().status == 200)
  }
}
