import Admission
import Gateway
import Testing

@Suite("Governing window") struct GoverningWindowTests {
  private let hour: Int64 = 3_600_000
  private func window(_ id: String, _ start: Int64, _ end: Int64) -> Window {
    Window(id: id, start: start * hour, end: end * hour)
  }

  @Test("The asked window counts where none was before")
  func first() {
    let asked = window("a", 0, 24)
    #expect(Window.governing(asked, among: [], now: hour) == asked)
    #expect(Window.governing(asked, among: [window("x", -48, -24)], now: hour) == asked)
  }

  @Test("RULES §5.6: the running window stays until its end, and the new one begins there")
  func zoneChange() {
    let old = window("old", 0, 24)
    let asked = window("new", 5, 29)
    #expect(Window.governing(asked, among: [old], now: 10 * hour) == old)
    #expect(Window.governing(asked, among: [old], now: 24 * hour - 1) == old)
    let next = Window.governing(asked, among: [old], now: 24 * hour)
    #expect(next == window("new", 24, 29))
    #expect(Window.governing(asked, among: [old, next], now: 28 * hour) == next)
  }

  @Test("Days of 23 and 25 hours follow each other without a gap")
  func daylightSaving() {
    let short = window("short", 0, 23)
    let long = window("long", 23, 48)
    #expect(Window.governing(long, among: [short], now: 23 * hour) == long)
    #expect(Window.governing(long, among: [short], now: 22 * hour) == short)
  }

  @Test("A rule that was counted by month and is by day now does not wait for the month's end")
  func otherLength() {
    let month = window("month", 0, 720)
    let day = window("day", 24, 48)
    #expect(Window.governing(day, among: [month], now: 30 * hour) == day)
    #expect(Window.governing(month, among: [day], now: 30 * hour) == month)
  }

  @Test("A clock that goes back finds the window that counted then")
  func clockBack() {
    let (monday, tuesday) = (window("mon", 0, 24), window("tue", 24, 48))
    #expect(Window.governing(monday, among: [monday, tuesday], now: 23 * hour) == monday)
    let sunday = window("sun", -24, 0)
    #expect(Window.governing(sunday, among: [monday, tuesday], now: -hour) == sunday)
  }

  @Test("Bounds at the ends of the range do not trap")
  func extremes() {
    let all = Window(id: "", start: .min, end: .max)
    #expect(Window.governing(all, among: [all], now: 0) == all)
    let backwards = Window(id: "", start: .max, end: .min)
    #expect(Window.governing(backwards, among: [all, backwards], now: 0).id == "")
  }
}
