import Encodings
import Testing

@Suite("Civil time")
struct CivilTimeTests {
  @Test(
    "known instants",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (1_709_251_199, "2024-02-29T23:59:59Z"), (4_102_444_800, "2100-01-01T00:00:00Z"),
      (4_107_542_400, "2100-03-01T00:00:00Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
      (1_791_568_800, "2026-10-09T18:00:00Z"),
    ] as [(Int64, String)])
  func known(seconds: Int64, text: String) {
    #expect(CivilTime(secondsSince1970: seconds).rfc3339 == text)
  }

  @Test("every day follows the one before, through four centuries")
  func days() {
    var before = CivilTime(secondsSince1970: -1_000 * 86_400)
    for day in -999...146_100 {
      let next = CivilTime(secondsSince1970: Int64(day) * 86_400)
      let sameMonth = next.day == before.day + 1 && next.month == before.month && next.year == before.year
      let newMonth = next.day == 1 && before.day >= 28 && (next.month == before.month + 1 || next.month == 1)
      if !sameMonth && !newMonth { Issue.record("\(before.rfc3339) then \(next.rfc3339)") }
      before = next
    }
  }

  @Test("ASN.1 spellings, and no trap at the ends of time")
  func spellings() {
    let time = CivilTime(secondsSince1970: 1_791_568_800)
    #expect(time.generalizedTime == "20261009180000Z")
    #expect(time.utcTime == "261009180000Z")
    #expect(CivilTime(secondsSince1970: .max).month > 0)
    #expect(CivilTime(secondsSince1970: .min).month > 0)
  }
}
