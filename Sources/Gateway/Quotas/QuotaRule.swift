import Encodings

/// Whose requests or money a rule counts. A call counts against all subjects (RULES §5.1).
package enum QuotaSubject: String, Sendable, Hashable, CaseIterable {
  /// The device's key.
  case key
  /// The key's current user.
  case user
  /// The app id of the key.
  case app
  /// The client's address, IPv6 by its /64.
  case address
  /// Everyone together.
  case everyone
}

/// What a rule counts.
package enum QuotaUnit: String, Sendable, Hashable {
  case requests
  /// Pico-dollars: held at the reserve and settled at the actual.
  case money
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

/// A limit on what a subject may use in a window.
package struct QuotaRule: Sendable, Equatable {
  /// The name in the configuration, such as `daily`.
  package var name: String
  package var subject: QuotaSubject
  package var unit: QuotaUnit
  package var period: QuotaPeriod
  /// Requests, or pico-dollars.
  package var limit: Int64

  package init(
    name: String, subject: QuotaSubject, unit: QuotaUnit = .requests, period: QuotaPeriod, limit: Int64
  ) {
    self.name = name
    self.subject = subject
    self.unit = unit
    self.period = period
    self.limit = limit
  }
}

/// A limit on how fast requests may come: GCRA. It is never given back (RULES §5.4).
package struct BurstRule: Sendable, Equatable {
  package var name: String
  package var subject: QuotaSubject
  /// Nanoseconds between two requests at the lasting rate.
  package var interval: Int64
  /// Requests at once.
  package var burst: Int64

  /// `count` requests in every `seconds`, of which `burst` may come at once; nil where a number is not
  /// positive or too large to be counted with.
  package init?(name: String, subject: QuotaSubject, count: Int64, seconds: Int64, burst: Int64) {
    guard count > 0, seconds > 0, burst > 0, seconds <= 366 * 86_400 else { return nil }
    let nanoseconds = seconds * 1_000_000_000
    interval = nanoseconds / count + (nanoseconds % count == 0 ? 0 : 1)
    guard !interval.multipliedReportingOverflow(by: burst).overflow else { return nil }
    self.name = name
    self.subject = subject
    self.burst = burst
  }
}

/// A limit on how many requests run at once.
package struct InFlightRule: Sendable, Equatable {
  package var name: String
  package var subject: QuotaSubject
  package var limit: Int64

  package init(name: String, subject: QuotaSubject, limit: Int64) {
    self.name = name
    self.subject = subject
    self.limit = limit
  }
}
