/// The Date field (RFC 9110 §6.6.1), written once a second.
struct DateField {
  private var second = Int64.min
  private var cached: [UInt8] = []

  /// The field line, with its end.
  mutating func line(at second: Int64) -> [UInt8] {
    if second != self.second {
      self.second = second
      cached = Array("Date: \(Self.text(second))\r\n".utf8)
    }
    return cached
  }

  /// The instant as an IMF-fixdate (RFC 9110 §5.6.7).
  static func text(_ seconds: Int64) -> String {
    let (days, rest) = floored(seconds, by: 86_400)
    // Days to a date in years that begin in March, so that the leap day is a year's last.
    let (era, dayOfEra) = floored(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let weekday = names("SunMonTueWedThuFriSat", floored(days + 4, by: 7).1)
    let monthName = names("JanFebMarAprMayJunJulAugSepOctNovDec", month - 1)
    let time = "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    return "\(weekday), \(two(day)) \(monthName) \(two(year / 100))\(two(year % 100)) \(time) GMT"
  }

  private static func floored(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
    let rest = value % divisor
    return rest < 0 ? (value / divisor - 1, rest + divisor) : (value / divisor, rest)
  }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func names(_ text: String, _ index: Int64) -> String {
    String(text.dropFirst(Int(index) * 3).prefix(3))
  }
}
