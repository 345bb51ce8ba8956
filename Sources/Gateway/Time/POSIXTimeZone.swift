import Encodings

/// The rule in a TZif file's footer (RFC 8536 §3.3, POSIX `TZ`), with the hours from −167 to 167 that
/// version 3 allows.
struct POSIXTimeZone: Sendable, Equatable {
  /// A day of every year.
  enum Day: Sendable, Equatable {
    /// `Jn`: 1 to 365; the leap day is never counted.
    case julian(Int64)
    /// `n`: 0 to 365; the leap day counts.
    case ordinal(Int64)
    /// `Mm.w.d`: the w-th weekday d of a month, 5 being the last.
    case month(Int, week: Int64, weekday: Int64)

    func date(in year: Int64) -> CivilDate {
      let newYear = CivilDate(year: year, month: 1, day: 1)
      switch self {
      case .julian(let number):
        let leapDay: Int64 = CivilDate.isLeap(year) && number >= 60 ? 1 : 0
        return CivilDate(days: newYear.days + number - 1 + leapDay)
      case .ordinal(let number): return CivilDate(days: newYear.days + number)
      case .month(let month, let week, let weekday):
        let first = CivilDate(year: year, month: month, day: 1)
        let toWeekday = (weekday - first.weekday + 7) % 7
        let last = first.startOfNextMonth.days - 1
        var days = first.days + toWeekday + (week - 1) * 7
        while days > last { days -= 7 }
        return CivilDate(days: days)
      }
    }
  }

  /// When the clock is changed: a day, and seconds from its midnight by the clock before the change.
  struct Change: Sendable, Equatable {
    var day: Day
    var seconds: Int64
  }

  struct DaylightTime: Sendable, Equatable {
    var offset: Int64
    var start: Change
    var end: Change
  }

  /// Seconds east of UTC, in standard time.
  let offset: Int64
  let daylight: DaylightTime?

  /// nil for anything that is no complete rule.
  init?(_ text: [UInt8]) {
    var scanner = POSIXScanner(text: text[...])
    guard scanner.skipName(), let west = scanner.time(maximumHours: 24) else { return nil }
    offset = -west
    if scanner.text.isEmpty {
      daylight = nil
      return
    }
    guard scanner.skipName() else { return nil }
    var daylightOffset = offset + 3_600
    if scanner.text.first != UInt8(ascii: ",") {
      guard let west = scanner.time(maximumHours: 24) else { return nil }
      daylightOffset = -west
    }
    guard let start = scanner.change(), let end = scanner.change(), scanner.text.isEmpty else { return nil }
    daylight = DaylightTime(offset: daylightOffset, start: start, end: end)
  }

  /// The changes to standard and to daylight time in a year, as UTC instants.
  private static func changes(of daylight: DaylightTime, standard: Int64, in year: Int64) -> (
    end: Int64, start: Int64
  ) {
    func instant(_ change: Change, _ offset: Int64) -> Int64 {
      change.day.date(in: year).days * CivilDate.secondsPerDay + change.seconds - offset
    }
    return (instant(daylight.end, daylight.offset), instant(daylight.start, standard))
  }

  private static func year(of instant: Int64) -> Int64 {
    CivilDate(days: instant.flooredQuotient(CivilDate.secondsPerDay)).year
  }

  /// The offset at an instant. Where daylight time ends as it begins again (it lasts all year then), the
  /// beginning wins.
  func offset(at instant: Int64) -> Int64 {
    guard let daylight else { return offset }
    let year = Self.year(of: instant)
    var latest = Int64.min
    var result = offset
    for year in (year - 1)...(year + 1) {
      let (end, start) = Self.changes(of: daylight, standard: offset, in: year)
      if end <= instant, end > latest { (latest, result) = (end, offset) }
      if start <= instant, start >= latest { (latest, result) = (start, daylight.offset) }
    }
    return result
  }

  /// The instant of the first change after an instant.
  func change(after instant: Int64) -> Int64? {
    guard let daylight else { return nil }
    let year = Self.year(of: instant)
    var earliest: Int64?
    for year in (year - 1)...(year + 1) {
      let (end, start) = Self.changes(of: daylight, standard: offset, in: year)
      for change in [end, start] where change > instant { earliest = min(earliest ?? change, change) }
    }
    return earliest
  }
}

/// Reads the pieces of a `TZ` text.
struct POSIXScanner {
  var text: ArraySlice<UInt8>

  mutating func accept(_ character: Character) -> Bool {
    guard let octet = character.asciiValue, text.first == octet else { return false }
    text.removeFirst()
    return true
  }

  mutating func skipName() -> Bool {
    if accept("<") {
      guard let end = text.firstIndex(of: UInt8(ascii: ">")), end > text.startIndex else { return false }
      text = text[(end + 1)...]
      return true
    }
    let name = text.prefix { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A }
    text = text[name.endIndex...]
    return name.count >= 3
  }

  mutating func number(upTo limit: Int64) -> Int64? {
    var value: Int64 = 0
    var digits = 0
    while let octet = text.first, octet >= 0x30, octet <= 0x39, digits < 4 {
      value = value * 10 + Int64(octet - 0x30)
      digits += 1
      text.removeFirst()
    }
    return digits > 0 && value <= limit ? value : nil
  }

  /// `[+|-]hh[:mm[:ss]]` in seconds.
  mutating func time(maximumHours: Int64) -> Int64? {
    let negative = accept("-")
    if !negative { _ = accept("+") }
    guard let hours = number(upTo: maximumHours) else { return nil }
    var seconds = hours * 3_600
    if accept(":") {
      guard let minutes = number(upTo: 59) else { return nil }
      seconds += minutes * 60
      if accept(":") {
        guard let rest = number(upTo: 59) else { return nil }
        seconds += rest
      }
    }
    return negative ? -seconds : seconds
  }

  /// `,date[/time]`.
  mutating func change() -> POSIXTimeZone.Change? {
    guard accept(",") else { return nil }
    let day: POSIXTimeZone.Day
    if accept("J") {
      guard let number = number(upTo: 365), number >= 1 else { return nil }
      day = .julian(number)
    } else if accept("M") {
      guard let month = number(upTo: 12), month >= 1, accept("."), let week = number(upTo: 5), week >= 1,
        accept("."), let weekday = number(upTo: 6)
      else { return nil }
      day = .month(Int(month), week: week, weekday: weekday)
    } else {
      guard let number = number(upTo: 365) else { return nil }
      day = .ordinal(number)
    }
    guard accept("/") else { return POSIXTimeZone.Change(day: day, seconds: 7_200) }
    guard let seconds = time(maximumHours: 167) else { return nil }
    return POSIXTimeZone.Change(day: day, seconds: seconds)
  }
}
