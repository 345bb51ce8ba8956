import Encodings
import Foundation
import Gateway
import Testing

/// The zone files of the system; Foundation, which reads them by code of its own, is the oracle.
private enum Zoneinfo {
  static let directory = "/usr/share/zoneinfo/"

  static func file(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: directory + name).map { [UInt8]($0) }
  }

  static func rules(_ name: String) throws -> TimeZoneRules {
    let bytes = try #require(file(name), "no \(name) in \(directory): install tzdata")
    return try TimeZoneRules(name: name, tzif: bytes)
  }

  static let isInstalled = file("Asia/Tokyo") != nil

  static let names = [
    "Asia/Tokyo", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe", "Europe/London",
    "Africa/Casablanca",
    "America/Nuuk", "America/St_Johns", "America/Sao_Paulo", "Asia/Gaza", "Pacific/Kwajalein",
    "Europe/Dublin",
    "Antarctica/Troll", "Asia/Kathmandu", "Pacific/Chatham", "America/Havana", "UTC", "Asia/Tehran",
  ]
}

@Suite(
  "Days of named zones",
  .enabled(if: Zoneinfo.isInstalled, "tzdata is not installed, so there is no zone to read"))
struct TimeZoneTests {
  private static func instant(_ text: String) throws -> Int64 {
    Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970)
  }

  @Test("Offsets agree with Foundation's, over 170 years and around every change", arguments: Zoneinfo.names)
  func offsets(_ name: String) throws {
    let rules = try Zoneinfo.rules(name)
    let oracle = try #require(TimeZone(identifier: name))
    func check(_ instant: Int64) {
      let date = Date(timeIntervalSince1970: Double(instant))
      #expect(rules.offset(at: instant) == Int64(oracle.secondsFromGMT(for: date)), "\(name) at \(date)")
    }
    var random = SplitMix(state: 1)
    let (start, end) = (try Self.instant("1930-01-01T00:00:00Z"), try Self.instant("2100-01-01T00:00:00Z"))
    for _ in 0..<400 { check(start + Int64(random.next() % UInt64(end - start))) }
    // Around the changes, by Foundation's own list, beyond 2037 as well.
    var date = Date(timeIntervalSince1970: Double(try Self.instant("2005-01-01T00:00:00Z")))
    while let next = oracle.nextDaylightSavingTimeTransition(after: date),
      next.timeIntervalSince1970 < Double(end), next > date
    {
      let instant = Int64(next.timeIntervalSince1970)
      for step in [-3_601, -1, 0, 1, 3_600] as [Int64] { check(instant + step) }
      date = next
    }
  }

  @Test(
    "Days follow one another without gap or overlap, and agree with Foundation's", arguments: Zoneinfo.names)
  func days(_ name: String) throws {
    let rules = try Zoneinfo.rules(name)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: name))
    for (from, to) in [
      ("2011-06-01", "2012-02-01"), ("2026-01-01", "2027-01-01"), ("2040-01-01", "2041-01-01"),
    ] {
      var instant = try Self.instant(from + "T12:00:00Z")
      let end = try Self.instant(to + "T12:00:00Z")
      var last: Int64?
      while instant < end {
        let day = rules.day(at: instant)
        let start = rules.start(of: day)
        let next = rules.endOfDay(at: instant)
        #expect(start <= instant && instant < next)
        if let last { #expect(start == last) }
        #expect(rules.day(at: next - 1) == day)
        #expect(rules.day(at: start) == day)
        #expect(rules.day(at: next) > day)
        #expect((20 * 3_600...28 * 3_600).contains(next - start), "\(name) \(day) has \(next - start) s")
        let parts = calendar.dateComponents(
          [.year, .month, .day], from: Date(timeIntervalSince1970: Double(instant)))
        #expect(parts.year == Int(day.year) && parts.month == day.month && parts.day == day.day)
        last = next
        instant = next + 43_200
      }
    }
  }

  private static func length(_ zone: String, _ date: (Int64, Int, Int)) throws -> Int64 {
    let rules = try Zoneinfo.rules(zone)
    let day = CivilDate(year: date.0, month: date.1, day: date.2)
    return rules.endOfDay(at: rules.start(of: day)) - rules.start(of: day)
  }

  @Test("Days of 23, 24 and 25 hours, and of half an hour more or less")
  func lengths() throws {
    #expect(try Self.length("America/New_York", (2026, 3, 8)) == 23 * 3_600)
    #expect(try Self.length("America/New_York", (2026, 11, 1)) == 25 * 3_600)
    #expect(try Self.length("America/New_York", (2026, 11, 2)) == 24 * 3_600)
    #expect(try Self.length("America/New_York", (2060, 3, 14)) == 23 * 3_600)
    #expect(try Self.length("Asia/Tokyo", (2026, 3, 8)) == 24 * 3_600)
    #expect(try Self.length("Australia/Lord_Howe", (2026, 4, 5)) == 24 * 3_600 + 1_800)
    #expect(try Self.length("Australia/Lord_Howe", (2026, 10, 4)) == 24 * 3_600 - 1_800)
    #expect(try Self.length("Europe/London", (2026, 10, 25)) == 25 * 3_600)
    // Clocks go back from midnight itself: the day before has 25 hours.
    #expect(try Self.length("America/Nuuk", (2026, 10, 24)) == 25 * 3_600)
  }

  @Test("A quota day begins at the zone's midnight, not at UTC's")
  func tokyo() throws {
    let rules = try Zoneinfo.rules("Asia/Tokyo")
    #expect(rules.day(at: try Self.instant("2026-11-30T14:59:59Z")).description == "2026-11-30")
    #expect(rules.day(at: try Self.instant("2026-11-30T15:00:00Z")).description == "2026-12-01")
    let window = QuotaPeriod.day(rules).window(at: try Self.instant("2026-11-30T15:00:00Z") * 1_000 + 1)
    #expect(
      window
        == Window(
          id: "2026-12-01", start: try Self.instant("2026-11-30T15:00:00Z") * 1_000,
          end: try Self.instant("2026-12-01T15:00:00Z") * 1_000))
  }

  @Test("Apia skipped 30 December 2011: the 29th is followed by the 31st")
  func apia() throws {
    let rules = try Zoneinfo.rules("Pacific/Apia")
    let change = try Self.instant("2011-12-30T10:00:00Z")
    #expect(rules.day(at: change - 1).description == "2011-12-29")
    #expect(rules.day(at: change).description == "2011-12-31")
    #expect(rules.endOfDay(at: change - 1) == change)
    #expect(rules.start(of: CivilDate(year: 2011, month: 12, day: 30)) == change)
    #expect(rules.start(of: CivilDate(year: 2011, month: 12, day: 31)) == change)
  }

  @Test("Clocks that go back over midnight just after it do not bring a day's quota back")
  func stJohns() throws {
    // Until 2011 clocks in St. John's changed at 00:01: 7 November 2010 began twice.
    let rules = try Zoneinfo.rules("America/St_Johns")
    let midnight = try Self.instant("2010-11-07T02:30:00Z")
    #expect(rules.day(at: midnight - 1).description == "2010-11-06")
    for step in [0, 59, 60, 1_800, 3_659, 3_660, 80_000] as [Int64] {
      #expect(rules.day(at: midnight + step).description == "2010-11-07")
    }
    #expect(rules.endOfDay(at: midnight) - midnight == 25 * 3_600)
  }

  @Test("Months are windows too, and hours are UTC's")
  func otherPeriods() throws {
    let rules = try Zoneinfo.rules("America/New_York")
    let now = try Self.instant("2026-12-15T12:00:00Z") * 1_000
    let month = QuotaPeriod.month(rules).window(at: now)
    #expect(month.id == "2026-12")
    #expect(month.start == (try Self.instant("2026-12-01T05:00:00Z")) * 1_000)
    #expect(month.end == (try Self.instant("2027-01-01T05:00:00Z")) * 1_000)
    let hour = QuotaPeriod.hour.window(at: now + 5)
    #expect(hour.end - hour.start == 3_600_000 && hour.start == now)
    #expect(QuotaPeriod.minute.window(at: now - 1).end == now)
    #expect(QuotaPeriod.lifetime.window(at: now) == Window(id: "lifetime", start: 0, end: .max))
  }

  @Test("No clock, however wrong, traps")
  func wildClocks() throws {
    for rules in [try Zoneinfo.rules("Africa/Casablanca"), try Zoneinfo.rules("America/New_York"), .utc] {
      for now in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max, 1 << 40, -(1 << 40)] {
        _ = rules.offset(at: now)
        for period in [QuotaPeriod.minute, .hour, .day(rules), .month(rules), .lifetime] {
          let window = period.window(at: now)
          #expect(window.start < window.end)
        }
      }
    }
  }
}

@Suite("TZif files")
struct TZifTests {
  /// A file of version 2 or later.
  private static func file(
    version: Character = "2", transitions: [(Int64, UInt8)] = [], types: [Int32] = [0],
    footer: String = "UTC0"
  ) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    func header(_ times: Int, _ types: Int, _ characters: Int) -> [UInt8] {
      Array("TZif".utf8) + Array(String(version).utf8) + [UInt8](repeating: 0, count: 15)
        + [0, 0, 0, times, types, characters].flatMap(number)
    }
    var out = header(0, 1, 4) + [0, 0, 0, 0, 0, 0] + Array("UTC\0".utf8)
    out += header(transitions.count, types.count, 4)
    for (time, _) in transitions {
      out += (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * Int64($0))) }
    }
    out += transitions.map(\.1)
    for type in types { out += number(Int(type)) + [0, 0] }
    return out + Array("UTC\0".utf8) + Array("\n\(footer)\n".utf8)
  }

  private static func rules(footer: String) -> TimeZoneRules? {
    try? TimeZoneRules(name: "test", tzif: file(footer: footer))
  }

  private static let january: Int64 = 1_893_456_000  // 2030-01-01T00:00:00Z
  private static let july: Int64 = 1_909_094_400  // 2030-07-01T00:00:00Z

  // RFC 8536 §3.3: the footer holds for what comes after the last transition.
  @Test("Transitions hold from their instant on, then the footer does")
  func transitions() throws {
    let rules = try TimeZoneRules(
      name: "x", tzif: Self.file(transitions: [(-100, 1), (100, 0)], types: [3_600, 7_200], footer: "XXX-5"))
    #expect(rules.offset(at: -101) == 3_600)
    #expect(rules.offset(at: -100) == 7_200)
    #expect(rules.offset(at: 99) == 7_200)
    #expect(rules.offset(at: 100) == 18_000)
    #expect(rules.offset(at: 1_000_000) == 18_000)
  }

  @Test("Month, Julian and ordinal days; negative times and times beyond a day")
  func footers() throws {
    // (footer, offset in January, offset in July)
    for (footer, winter, summer) in [
      ("EST5EDT,M3.2.0,M11.1.0", -18_000, -14_400), ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 39_600, 37_800),
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -7_200, -3_600), ("IST-1GMT0,M10.5.0,M3.5.0/1", 0, 3_600),
      ("AAA3BBB,J60/25,J300/-167", -10_800, -7_200), ("AAA3BBB,59,300/167:59:59", -10_800, -7_200),
      ("XXX3EDT4,0/0,J365/23", -14_400, -14_400), ("<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", 0, 7_200),
      ("JST-9", 32_400, 32_400), ("<-00>0", 0, 0),
    ] as [(String, Int64, Int64)] {
      let rules = try #require(Self.rules(footer: footer), "\(footer)")
      #expect(rules.offset(at: Self.january) == winter, "\(footer)")
      #expect(rules.offset(at: Self.july) == summer, "\(footer)")
    }
    // J60 is 1 March in every year, 59 only where there is no leap day.
    let julian = try #require(Self.rules(footer: "AAA0BBB,J60/0,J300"))
    let ordinal = try #require(Self.rules(footer: "AAA0BBB,59/0,J300"))
    let firstOfMarch2032 = CivilDate(year: 2032, month: 3, day: 1).days * 86_400
    #expect(julian.offset(at: firstOfMarch2032 - 1) == 0)
    #expect(julian.offset(at: firstOfMarch2032) == 3_600)
    #expect(ordinal.offset(at: firstOfMarch2032 - 86_400 - 1) == 0)
    #expect(ordinal.offset(at: firstOfMarch2032 - 86_400) == 3_600)
  }

  @Test("A rule that is none is refused")
  func badFooters() {
    for footer in [
      "X", "AB0", "UTC", "UTC0 ", "<>0", "<+1", "UTC25", "EST5EDT", "EST5EDT,M3.2.0",
      "EST5EDT,M13.2.0,M11.1.0",
      "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.0.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J1",
      "EST5EDT,J366,J1",
      "EST5EDT,366,1", "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,M3.2.0/2:60,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,",
      "EST99999999999999999999", "EST5EDT,M3.2.0/99999,M11.1.0", "🕐🕑🕒0",
    ] {
      #expect(Self.rules(footer: footer) == nil, "\(footer)")
    }
  }

  @Test("Files that are none, of version 1, or not in order, are refused")
  func badFiles() {
    func error(_ bytes: [UInt8]) -> TimeZoneError? {
      do {
        _ = try TimeZoneRules(name: "x", tzif: bytes)
        return nil
      } catch {
        return error
      }
    }
    #expect(error([]) == .notTZif)
    #expect(error(Array("hello, this is no zone file but is long enough to be read".utf8)) == .notTZif)
    #expect(error(Self.file(version: "\0")) == .version1)
    #expect(error(Self.file(footer: "nonsense")) == .footer)
    #expect(error(Self.file(transitions: [(5, 0), (5, 0)])) == .malformed)
    #expect(error(Self.file(transitions: [(5, 1)])) == .malformed)
    #expect(error(Self.file(types: [100_000])) == .malformed)
    #expect(error(Self.file(types: [])) == .malformed)
    var counts = Self.file()
    for index in 20..<44 { counts[index] = 0xFF }
    #expect(error(counts) == .malformed)
    for index in 20..<44 { counts[index] = 0x7F }
    #expect(error(counts) == .malformed)
  }

  @Test("A file cut at any octet is refused, and one with any octet changed never traps")
  func mutations() throws {
    let file = Self.file(
      transitions: [(-100, 1), (100, 0)], types: [3_600, 7_200], footer: "EST5EDT,M3.2.0,M11.1.0/-1")
    for length in 0..<file.count {
      #expect(throws: TimeZoneError.self) { try TimeZoneRules(name: "x", tzif: Array(file.prefix(length))) }
    }
    var random = SplitMix(state: 11)
    for _ in 0..<4_000 {
      var bytes = file
      for _ in 0..<(1 + random.next() % 3) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      guard let rules = try? TimeZoneRules(name: "x", tzif: bytes) else { continue }
      let day = rules.day(at: Self.july)
      let end = rules.endOfDay(at: Self.july)
      #expect(rules.start(of: day) <= Self.july && Self.july < end)
    }
  }
}
