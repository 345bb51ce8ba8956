import Encodings

/// What a rule counts.
package enum QuotaUnit: String, Sendable, Hashable, CaseIterable {
  case requests
  /// Tokens of all classes, input and output.
  case tokens
  case images
  /// Pico-dollars.
  case money

  /// Whether the most that a call can come to is held until the actual is known; a request is counted at once.
  package var isHeld: Bool { self != .requests }
}

/// How long a counting window is.
package enum QuotaPeriod: Sendable, Equatable {
  case minute
  case hour
  /// A calendar day of the zone; its length can be other than 24 hours.
  case day(TimeZoneRules)
  /// A calendar month of the zone.
  case month(TimeZoneRules)
  /// One window without end.
  case lifetime

  /// The window around `now`, in milliseconds since 1970. It may be kept until it ends.
  package func window(at now: Int64) -> Window {
    // A clock beyond year 9999 is wrong, and arithmetic must not trap.
    let seconds = min(max(now, 0), 253_000_000_000_000).flooredQuotient(1_000)
    switch self {
    case .minute: return Self.even(60, "minute", seconds)
    case .hour: return Self.even(3_600, "hour", seconds)
    case .day(let zone):
      let day = zone.day(at: seconds)
      return Self.window(day.description, zone.start(of: day), zone.endOfDay(at: seconds))
    case .month(let zone):
      let day = zone.day(at: seconds)
      return Self.window(
        day.monthText, zone.start(of: day.startOfMonth), zone.start(of: day.startOfNextMonth))
    case .lifetime: return Window(id: "lifetime", start: 0, end: .max)
    }
  }

  /// Hours and minutes are those of UTC: local ones would come twice when clocks go back.
  private static func even(_ length: Int64, _ name: String, _ seconds: Int64) -> Window {
    let number = seconds.flooredQuotient(length)
    return window("\(name)-\(number)", number * length, (number + 1) * length)
  }

  private static func window(_ id: String, _ start: Int64, _ end: Int64) -> Window {
    Window(id: id, start: start * 1_000, end: end * 1_000)
  }
}
