import Encodings
import Testing

@Suite("Civil dates")
struct CivilDateTests {
  @Test("Dates and days agree, over four centuries and more")
  func civilDates() {
    #expect(CivilDate(days: 0).description == "1970-01-01")
    #expect(CivilDate(days: -1).description == "1969-12-31")
    #expect(CivilDate(year: 2024, month: 2, day: 29).days == 19_782)
    #expect(CivilDate(days: 0).weekday == 4)
    #expect(CivilDate(year: 2026, month: 11, day: 30).weekday == 1)
    #expect(CivilDate(year: 1600, month: 12, day: 31).startOfNextMonth.description == "1601-01-01")
    var previous = CivilDate(days: -150_000)
    for days in Int64(-149_999)..<50_000 {
      let date = CivilDate(days: days)
      let follows =
        date.day == previous.day + 1 && date.month == previous.month
        || date.day == 1
          && (date.month == previous.month + 1 || date.month == 1 && date.year == previous.year + 1)
      if !follows || CivilDate(year: date.year, month: date.month, day: date.day) != date {
        Issue.record("\(previous) is followed by \(date)")
        return
      }
      previous = date
    }
  }
}
