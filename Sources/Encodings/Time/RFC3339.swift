/// Date and time as RFC 3339 §5.6 writes them, such as `2026-10-09T18:00:00.5+02:00`.
public enum RFC3339 {
  /// The instant, seconds since 1970, a fraction dropped; nil for what is no date and time.
  ///
  /// A leap second counts as the second after it, as POSIX has it. The letters may be small (§5.6), the `T`
  /// a blank.
  public static func seconds(_ text: some StringProtocol) -> Int64? {
    var rest = Array(text.utf8)[...]
    guard let year = number(&rest, digits: 4), take("-", &rest),
      let month = number(&rest, digits: 2), (1...12).contains(month), take("-", &rest),
      let day = number(&rest, digits: 2), let date = date(year, month, day), take("Tt ", &rest),
      let hour = number(&rest, digits: 2), hour <= 23, take(":", &rest),
      let minute = number(&rest, digits: 2), minute <= 59, take(":", &rest),
      let second = number(&rest, digits: 2), second <= 60
    else { return nil }
    if take(".", &rest) {
      let fraction = rest.prefix { (0x30...0x39).contains($0) }
      if fraction.isEmpty { return nil }
      rest = rest.dropFirst(fraction.count)
    }
    guard let offset = offset(&rest), rest.isEmpty else { return nil }
    let ofDay = hour * 3_600 + minute * 60 + second - offset
    return date.days * CivilDate.secondsPerDay + Int64(ofDay)
  }

  /// Seconds east of UTC.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
    if take("Zz", &rest) { return 0 }
    let east = rest.first == UInt8(ascii: "+")
    guard take("+-", &rest), let hours = number(&rest, digits: 2), hours <= 23, take(":", &rest),
      let minutes = number(&rest, digits: 2), minutes <= 59
    else { return nil }
    return (east ? 1 : -1) * (hours * 3_600 + minutes * 60)
  }

  private static func number(_ rest: inout ArraySlice<UInt8>, digits: Int) -> Int? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    rest = rest.dropFirst(digits)
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private static func take(_ any: StaticString, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard let first = rest.first, any.description.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// nil where the month has no such day.
  private static func date(_ year: Int, _ month: Int, _ day: Int) -> CivilDate? {
    let date = CivilDate(year: Int64(year), month: month, day: day)
    return date.month == month && date.day == day ? date : nil
  }
}
