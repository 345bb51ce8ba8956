/// The times in receipts: ISO 8601 in UTC with as many digits of a second as are not zero (`…:34Z`,
/// `…:34.7Z`, `…:34.76Z`), which fixed formats do not take.
enum ReceiptTime {
  /// Milliseconds since 1970; nil for what is no such time. Finer digits are dropped.
  static func milliseconds(_ text: some Sequence<UInt8>) -> Int64? {
    var rest = Array(text)[...]
    guard let year = number(&rest, 4), skip(&rest, "-"), let month = number(&rest, 2), skip(&rest, "-"),
      let day = number(&rest, 2), skip(&rest, "T"), let hour = number(&rest, 2), skip(&rest, ":"),
      let minute = number(&rest, 2), skip(&rest, ":"), let second = number(&rest, 2)
    else { return nil }
    var thousandths: Int64 = 0
    if skip(&rest, ".") {
      var scale: Int64 = 100
      var digits = 0
      while let digit = number(&rest, 1) {
        thousandths += digit * scale
        scale /= 10
        digits += 1
      }
      guard digits > 0 else { return nil }
    }
    guard skip(&rest, "Z"), rest.isEmpty, (1...12).contains(month),
      (1...length(of: month, year)).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = days(year: year, month: month, day: day)
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + thousandths
  }

  private static func number(_ rest: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
    guard rest.count >= digits else { return nil }
    var value: Int64 = 0
    for octet in rest.prefix(digits) {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) else { return nil }
      value = value * 10 + Int64(octet - UInt8(ascii: "0"))
    }
    rest = rest.dropFirst(digits)
    return value
  }

  private static func skip(_ rest: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private static func length(of month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01 of the Gregorian calendar, counted in years that begin in March.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let monthOfYear = (month + 9) % 12
    let dayOfYear = (153 * monthOfYear + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
