import Encodings
import Foundation
import Testing

@Suite("RFC 3339")
struct RFC3339Tests {
  @Test(
    "instants that are known",
    arguments: [
      ("1970-01-01T00:00:00Z", 0),
      ("1969-12-31T23:59:59Z", -1),
      ("2000-02-29T12:00:00Z", 951_825_600),
      ("2026-10-09T18:00:00.5+02:00", 1_791_561_600),
      ("2026-10-09t16:00:00z", 1_791_561_600),
      ("2026-10-09 16:00:00.000001-00:00", 1_791_561_600),
      ("2016-12-31T23:59:60Z", 1_483_228_800),
      ("0000-03-01T00:00:00Z", -62_162_035_200),
    ])
  func known(_ text: String, _ seconds: Int) { #expect(RFC3339.seconds(text) == Int64(seconds)) }

  @Test(
    "anything else is no instant",
    arguments: [
      "", "2026", "2026-10-09", "2026-10-09T18:00:00", "2026-10-09T18:00Z", "2026-13-01T00:00:00Z",
      "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
      "2026-10-09T24:00:00Z", "2026-10-09T18:60:00Z", "2026-10-09T18:00:61Z", "2026-10-09T18:00:00.Z",
      "2026-10-09T18:00:00+0200", "2026-10-09T18:00:00+24:00", "2026-10-09T18:00:00Z ",
      " 2026-10-09T18:00:00Z", "+026-10-09T18:00:00Z", "２026-10-09T18:00:00Z", "2026-10-09T18:00:00+",
    ])
  func refused(_ text: String) { #expect(RFC3339.seconds(text) == nil) }

  @Test("every day of four centuries is as Foundation has it")
  func days() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    for day in stride(from: -11_000, to: 146_097 - 11_000, by: 13) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = calendar.dateComponents([.year, .month, .day], from: date)
      let text = String(format: "%04d-%02d-%02dT00:00:00Z", parts.year!, parts.month!, parts.day!)
      #expect(RFC3339.seconds(text) == Int64(day) * 86_400, "\(text)")
    }
  }
}
