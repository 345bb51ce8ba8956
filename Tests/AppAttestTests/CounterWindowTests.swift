import AppAttest
import BramleyTesting
import Testing

@Suite("Counter window")
struct CounterWindowTests {
  @Test("RULES §1.5: counter 0 is never accepted")
  func zero() {
    for width in [0, 1, 128] {
      var window = CounterWindow()
      #expect(window.accept(0, width: width) == .refused)
      #expect(window.accept(1, width: width) == .accepted(outOfOrder: false))
      #expect(window.accept(0, width: width) == .refused)
    }
  }

  @Test("RULES §1.5: width 0 is strict")
  func strict() {
    var window = CounterWindow()
    #expect(window.accept(5, width: 0) == .accepted(outOfOrder: false))
    for counter in 0...5 as ClosedRange<UInt32> { #expect(window.accept(counter, width: 0) == .refused) }
    #expect(window.accept(6, width: 0) == .accepted(outOfOrder: false))
  }

  @Test("RULES §1.5: a gap of a width clears the map")
  func gap() {
    for gap in [127, 128, 129, 130, 1_000_000] as [UInt32] {
      var window = CounterWindow()
      for counter in 1...200 as ClosedRange<UInt32> { _ = window.accept(counter, width: 128) }
      #expect(window.accept(200 + gap, width: 128) == .accepted(outOfOrder: false))
      #expect(window.accept(200, width: 128) == .refused)
      #expect(window.accept(200 + gap - 126, width: 128) == .accepted(outOfOrder: true))
    }
  }

  @Test("the largest counters do not overflow")
  func largest() {
    var window = CounterWindow()
    #expect(window.accept(.max, width: 128) == .accepted(outOfOrder: false))
    #expect(window.accept(.max, width: 128) == .refused)
    #expect(window.accept(.max - 128, width: 128) == .accepted(outOfOrder: true))
    #expect(window.accept(.max - 129, width: 128) == .refused)
    #expect(window.accept(1, width: 128) == .refused)
  }

  @Test("a hundred in any order all pass, and no replay does", arguments: 0..<20 as Range<UInt64>)
  func parallel(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var window = CounterWindow(highest: 17)
    let counters = (18...117 as ClosedRange<UInt32>).shuffled(using: &random)
    for counter in counters { #expect(window.accept(counter, width: 128) != .refused) }
    for counter in counters { #expect(window.accept(counter, width: 128) == .refused) }
  }

  @Test("it agrees with a set of what was accepted, for any width and also when the width changes")
  func model() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<60 {
      var window = CounterWindow()
      var accepted: Set<UInt32> = []
      var highest: UInt32 = 0
      for _ in 0..<300 {
        let width = [0, 1, 63, 64, 65, 127, 128, 200].randomElement(using: &random) ?? 0
        let low = highest > 140 ? highest - 140 : 0
        let counter = UInt32.random(in: low...highest + 80, using: &random)
        let expected: CounterWindow.Acceptance
        if counter == 0 || accepted.contains(counter) {
          expected = .refused
        } else if counter > highest {
          expected = .accepted(outOfOrder: false)
        } else {
          expected = highest - counter <= UInt32(min(width, 128)) ? .accepted(outOfOrder: true) : .refused
        }
        // Through the stored form and back.
        window = CounterWindow(highest: window.highest, near: window.near, far: window.far)
        #expect(window.accept(counter, width: width) == expected)
        if expected != .refused { accepted.insert(counter) }
        highest = max(highest, accepted.max() ?? 0)
      }
    }
  }
}
