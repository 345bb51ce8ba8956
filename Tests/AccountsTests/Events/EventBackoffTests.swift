import Testing

@testable import Accounts

@Suite("When an event is sent again") struct EventBackoffTests {
  @Test("eleven attempts over three days, whatever the dice say", arguments: [0, 128, 255] as [UInt8])
  func threeDays(random: UInt8) {
    var total: Int64 = 0
    var last: Int64 = 0
    for attempt in 1...10 {
      let delay = EventBackoff.delay(after: Int64(attempt), random: random) ?? 0
      #expect(delay >= last)
      last = delay
      total += delay
    }
    #expect(EventBackoff.delay(after: 11, random: random) == nil)
    #expect((2 * 86_400_000...4 * 86_400_000).contains(total))
  }

  @Test("what failed together does not come back together")
  func jitter() {
    #expect(Set((0...255).map { EventBackoff.delay(after: 3, random: $0) }).count > 200)
  }

  @Test("an endpoint may ask for more time, for a day at most, and never for less")
  func asked() {
    #expect(EventBackoff.delay(after: 1, asked: 3_600_000, random: 0) == 3_600_000)
    #expect(EventBackoff.delay(after: 1, asked: .max, random: 0) == 86_400_000)
    #expect(EventBackoff.delay(after: 1, asked: -1, random: 0) == 4_000)
    #expect(EventBackoff.delay(after: 0, random: 0) == nil)
    #expect(EventBackoff.delay(after: .max, random: 0) == nil)
  }
}
