import BramleyClient
import Foundation
import HTTPMessages
import Testing
import Transport

/// One server that is killed under load, again and again: what was sent to it and what was answered, in all.
struct Killing {
  /// How often; BRAMLEY_TEST_KILLS says otherwise.
  static let times =
    ProcessInfo.processInfo.environment["BRAMLEY_TEST_KILLS"].flatMap { Int($0) } ?? 10

  let network: HTTPClient
  let traffic: Traffic
  private(set) var sent = 0
  private(set) var answered = 0
  private(set) var number = 0

  init(_ network: HTTPClient) {
    self.network = network
    traffic = Traffic(network)
  }

  /// Lets the phones ask and kills the program meanwhile; what was answered, and what was not.
  mutating func kill(
    _ program: Program, under phones: [BramleyClient]
  ) async throws -> (done: [HTTPRequest], open: [HTTPRequest]) {
    number += 1
    await withTaskGroup { group in
      group.addTask { await Load.run(phones) }
      try? await Task.sleep(for: .milliseconds(Int.random(in: 60...700)))
      program.kill(SIGKILL)
      await group.waitForAll()
    }
    #expect(try await program.exitCode() == SIGKILL)
    let (done, open) = (await traffic.answered, Array(await traffic.unanswered.values))
    // 429: a phone may ask before its last request is settled. Nothing else is refused.
    #expect(await traffic.refused.filter { $0 != 429 } == [])
    await traffic.forget()
    sent += open.count + done.count
    answered += done.count
    return (done, open)
  }

  /// What is in the database lies between what was answered and what was sent, and agrees with itself.
  func check(_ counts: Counts) {
    #expect((answered...sent).contains(counts.admitted), "kill \(number)")
    #expect(counts.admitted == counts.settled + counts.open, "kill \(number)")
  }

  /// RULES §1.5: what was answered is refused when it is sent again, to another node as well.
  ///
  /// - Parameter authority: of that node; nil for the one that it was signed for.
  func replay(_ done: [HTTPRequest], to authority: String? = nil) async throws {
    for request in done {
      var replay = request
      replay.authority = authority ?? request.authority
      let response = try await network.respond(to: replay)
      let body = String(decoding: try await response.body.collect(upTo: 1 << 16), as: UTF8.self)
      #expect(
        response.status == 401 && body.contains("counter_replayed"),
        "kill \(number): \(response.status) \(body)")
    }
  }

  /// What was not answered may or may not have been admitted; `late` of it were now.
  mutating func add(late: Int) { answered += late }

  /// Tells how much was looked at, and that it was enough.
  func end(_ what: String) {
    print("\(what): \(number) times, \(answered) requests answered, \(sent) sent")
    #expect(answered > number)
  }
}
