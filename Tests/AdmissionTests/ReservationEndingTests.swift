import Admission
import Gateway
import Testing

@Suite("How a reservation that nobody settles ends") struct ReservationEndingTests {
  private let id = [UInt8](repeating: 3, count: 16)
  private var usage: UsageRecord {
    UsageRecord(
      keyID: nil, userID: "ÄÖ-1", route: "/functions/v1/calories", provider: "anthropic",
      model: "claude-haiku-4-5",
      status: 200, inputTokens: 1, cacheReadTokens: 300, cacheWrite5mTokens: 70_000, cacheWrite1hTokens: .max,
      outputTokens: 4, cost: 123_456_789_012, estimated: true, startedAt: 1_796_040_000_123, firstByte: 17,
      duration: 900, function: "calories", images: 2, units: -5)
  }

  private var all: [ReservationEnding] {
    let closure = ModelClosure(
      model: ProviderModel(provider: "fal", name: "fal-ai/flux"), closedAt: 7, cost: 9, reserve: 8)
    var plain = usage
    (plain.userID, plain.function, plain.firstByte, plain.estimated) = (nil, nil, nil, false)
    return [
      .held(usage), .held(plain),
      .known(
        Settlement(
          id: id, outcome: .used(cost: 5, tokens: 6, images: 7), now: 99, usage: usage, closure: closure,
          sparing: ["gpt", "claude"])),
      .known(Settlement(id: id, outcome: .released(giveBackCount: false), now: 99, usage: plain)),
      .known(Settlement(id: id, outcome: .released(giveBackCount: false), now: 99)),
    ]
  }

  @Test("is read as it was written")
  func roundTrip() {
    for ending in all { #expect(ReservationEnding(ending.octets, id: id, now: 99) == ending) }
  }

  @Test("gives no count back: the sweep does not load what that takes")
  func givesNothingBack() {
    let noted = ReservationEnding.known(Settlement(id: id, outcome: .released(giveBackCount: true), now: 99))
    let ended = ReservationEnding.known(Settlement(id: id, outcome: .released(giveBackCount: false), now: 99))
    #expect(ReservationEnding(noted.octets, id: id, now: 99) == ended)
  }

  @Test("is nothing where an octet is missing, is one too many, or is of another version")
  func malformed() {
    for ending in all {
      let octets = ending.octets
      for count in 0..<octets.count {
        #expect(ReservationEnding(Array(octets.prefix(count)), id: id, now: 99) == nil)
      }
      #expect(ReservationEnding(octets + [0], id: id, now: 99) == nil)
      #expect(ReservationEnding([9] + octets.dropFirst(), id: id, now: 99) == nil)
      // Nothing that a broken disk may leave there traps.
      for place in octets.indices {
        var bent = octets
        bent[place] = 0xFF
        _ = ReservationEnding(bent, id: id, now: 99)
      }
    }
  }
}
