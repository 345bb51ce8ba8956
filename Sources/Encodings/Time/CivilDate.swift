/// A date of the proleptic Gregorian calendar, without a zone.
public struct CivilDate: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Seconds in a day of 24 hours.
  public static let secondsPerDay: Int64 = 86_400

  /// Days since 1970-01-01.
  public let days: Int64
  /// The year; 0 is the year before 1.
  public let year: Int64
  /// 1 to 12.
  public let month: Int
  /// 1 to 31.
  public let day: Int

  /// The date that many days after 1970-01-01; meant for years of four digits, right far beyond.
  public init(days: Int64) {
    // Years begin in March here, so that the leap day is a year's last; eras have 400 years.
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    self.days = days
    day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5) + 1
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The date of these numbers; days beyond the month's end run into the next month.
  public init(year: Int64, month: Int, day: Int) {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear.flooredQuotient(400)
    let yearOfEra = shiftedYear - era * 400
    let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    self.init(days: era * 146_097 + dayOfEra - 719_468)
  }

  /// 0 is Sunday.
  public var weekday: Int64 { days + 4 - (days + 4).flooredQuotient(7) * 7 }

  /// Whether the year has a leap day.
  public static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Earlier.
  public static func < (left: CivilDate, right: CivilDate) -> Bool { left.days < right.days }

  /// The first day of this date's month.
  public var startOfMonth: CivilDate { CivilDate(year: year, month: month, day: 1) }

  /// The first day of the month after this date's.
  public var startOfNextMonth: CivilDate {
    month == 12
      ? CivilDate(year: year + 1, month: 1, day: 1) : CivilDate(year: year, month: month + 1, day: 1)
  }

  /// `2026-11-30`.
  public var description: String { "\(monthText)-\(Self.padded(day, 2))" }

  /// `2026-11`.
  public var monthText: String { "\(Self.padded(Int(year), 4))-\(Self.padded(month, 2))" }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}

extension Int64 {
  /// The quotient rounded towards minus infinity, for a positive divisor.
  public func flooredQuotient(_ divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
