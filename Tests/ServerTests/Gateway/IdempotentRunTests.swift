import Admission
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Synchronization
import Testing

@testable import Server

@Suite("Runs of requests with an Idempotency-Key")
struct IdempotentRunTests: IdempotentAsking {
  @Test("RULES §5.8: a second request attaches to the running first, and reads from the beginning")
  func attached() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    let first = try await ask(phone)
    let second = try await ask(phone)
    #expect(second.fields["idempotency-replayed"] == "true")
    tap.give(Self.end)
    tap.end()
    #expect(try await second.text == Self.start + Self.end)
    #expect(try await first.text == Self.start + Self.end)
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.usage().count == 1)
  }

  @Test("RULES §5.8: with a key a lost client cancels nothing: the answer is there when it comes back")
  func lost() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    try await Task.sleep(for: .milliseconds(20))
    #expect(!tap.isCancelled)
    tap.give(Self.end)
    tap.end()
    await server.background.drain()
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows[0].outputTokens == 12 && !rows[0].estimated)
    #expect(try await ask(phone).text == Self.start + Self.end)
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("RULES §5.8: without a key a lost client cancels")
  func withoutKey() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await phone.ask(stream: true).leaveAfterFirstPiece()
    #expect(try await server.usage().first?.estimated == true)
    #expect(tap.isCancelled)
  }

  @Test("RULES §5.8: what nobody waits for is given up in time, booked, and incomplete for a repeat")
  func abandoned() async throws {
    let tap = Tap()
    let server = try await tapped(tap, patience: .milliseconds(30))
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    let rows = try await server.usage()
    #expect(tap.isCancelled && rows.count == 1 && rows[0].estimated && rows[0].cost > 0)
    #expect(try await Outcome(ask(phone)) == Outcome(422, "idempotency_incomplete"))
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("RULES §5.8: an answer above 1 MiB passes whole to whoever reads it, and is not kept")
  func long() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    let piece = ": " + String(repeating: "x", count: 99_998) + "\n\n"
    for _ in 0..<25 { tap.give(piece) }
    tap.give(Self.end)
    tap.end()
    let response = try await ask(phone)
    #expect(try await response.text.utf8.count == Self.start.utf8.count + 25 * 100_002 + Self.end.utf8.count)
    await server.background.drain()
    #expect(try await server.usage().first?.estimated == false)
    #expect(try await Outcome(ask(phone)) == Outcome(422, "idempotency_incomplete"))
  }

  @Test("RULES §5.8: a long answer that nobody reads is given up at 1 MiB")
  func longAlone() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    for _ in 0..<12 { tap.give(": " + String(repeating: "x", count: 99_998) + "\n\n") }
    #expect(try await server.usage().count == 1)
    #expect(tap.isCancelled)
  }

  @Test("RULES §5.8: 20 repeats at once are one call of the provider")
  func race() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    let answers = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await ask(phone).text } }
      tap.give(Self.start)
      try await Task.sleep(for: .milliseconds(50))
      tap.give(Self.end)
      tap.end()
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    #expect(answers == Array(repeating: Self.start + Self.end, count: 20))
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.remaining(phone, "daily") == 99)
  }

  @Test("RULES §5.8: a repeat at another node waits for the first, and gets its answer")
  func nodes() async throws {
    let tap = Tap()
    let one = try await tapped(tap)
    let two = try await tapped(tap, sharing: one)
    let phone = try await one.phone()
    tap.give(Self.start)
    let first = try await ask(phone)
    async let second = ask(phone, at: two)
    try await Task.sleep(for: .milliseconds(30))
    tap.give(Self.end)
    tap.end()
    #expect(try await first.text == Self.start + Self.end)
    let repeated = try await second
    #expect(repeated.fields["idempotency-replayed"] == "true")
    #expect(try await repeated.text == Self.start + Self.end)
    #expect(two.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §5.8: a node that died amid a call leaves 422, and no second charge")
  func killed() async throws {
    let tap = Tap()
    let one = try await tapped(tap)
    let two = try await tapped(tap, sharing: one)
    let phone = try await one.phone()
    tap.give(Self.start)
    _ = try await ask(phone)
    // The other node hears nothing of it any more, and no lease is renewed.
    one.clock.advance(milliseconds: Idempotency.lease)
    #expect(try await Outcome(ask(phone, at: two)) == Outcome(422, "idempotency_incomplete"))
    #expect(two.upstreamRequests.values.isEmpty)
    tap.end()
    await one.background.drain()
  }
}
