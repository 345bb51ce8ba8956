/// A point in time as the proleptic Gregorian calendar writes it in UTC, to the second.
///
/// Enough for the texts of protocols (RFC 3339, ASN.1) without Foundation; zones and their rules are another
/// matter.
public struct CivilTime: Sendable, Equatable {
  /// The year; 0 is the year before 1.
  public let year: Int
  /// 1 to 12.
  public let month: Int
  /// 1 to 31.
  public let day: Int
  /// 0 to 23.
  public let hour: Int
  /// 0 to 59.
  public let minute: Int
  /// 0 to 59: leap seconds do not exist in seconds since 1970.
  public let second: Int

  /// The civil time of an instant, seconds since 1970-01-01T00:00:00Z. Total for every instant.
  public init(secondsSince1970 seconds: Int64) {
    let days = seconds.flooredQuotient(CivilDate.secondsPerDay)
    let remainder = Int(seconds % CivilDate.secondsPerDay)
    let ofDay = remainder < 0 ? remainder + Int(CivilDate.secondsPerDay) : remainder
    let date = CivilDate(days: days)
    (year, month, day) = (Int(date.year), date.month, date.day)
    hour = ofDay / 3_600
    minute = ofDay / 60 % 60
    second = ofDay % 60
  }

  /// RFC 3339 with `Z`, such as `2026-10-09T18:00:00Z`.
  public var rfc3339: String {
    "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
      + "T\(Self.digits(hour, 2)):\(Self.digits(minute, 2)):\(Self.digits(second, 2))Z"
  }

  /// ASN.1 GeneralizedTime in the form that certificates use, such as `20261009180000Z` (RFC 5280 §4.1.2.5.2).
  public var generalizedTime: String { Self.digits(year, 4) + withoutYear }

  /// ASN.1 UTCTime, such as `261009180000Z` (RFC 5280 §4.1.2.5.1); right from 1950 to 2049 alone.
  public var utcTime: String { Self.digits(((year % 100) + 100) % 100, 2) + withoutYear }

  private var withoutYear: String {
    [month, day, hour, minute, second].map { Self.digits($0, 2) }.joined() + "Z"
  }

  private static func digits(_ value: Int, _ width: Int) -> String {
    let text = String(value.magnitude)
    return (value < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
