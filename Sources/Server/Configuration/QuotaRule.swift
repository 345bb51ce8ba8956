package import Gateway

extension Configuration {
  /// A count or a budget: how much of a unit one subject may use in a window. Requests count against every rule that
  /// applies to them (RULES §5.1).
  package struct QuotaRule: Sendable, Equatable {
    /// Whose limit it is.
    package enum Scope: String, Sendable, CaseIterable {
      case key
      case user
      case app
      case address
      case everyone
    }

    /// How long a window is. Days and months are those of `time_zone`, hours and minutes those of UTC.
    package enum Length: String, Sendable, CaseIterable {
      case minute
      case hour
      case day
      case month
      /// One window without end.
      case lifetime
    }

    package var name: String
    package var subject: Scope
    /// In the rule's unit; money in pico-dollars.
    package var limit: Int64
    package var window: Length
    package var unit: QuotaUnit
    /// The function whose calls alone count; nil for every call.
    package var function: String?
    /// The provider whose calls alone count; nil for every call.
    package var provider: String?
    /// Whether the operator is told when 50, 80 and 100 % are used; nil: of money that many share.
    package var alarms: Bool?

    package init(
      name: String, subject: Scope, limit: Int64, window: Length = .day, unit: QuotaUnit = .requests,
      function: String? = nil, provider: String? = nil, alarms: Bool? = nil
    ) {
      self.name = name
      self.subject = subject
      self.limit = limit
      self.window = window
      self.unit = unit
      self.function = function
      self.provider = provider
      self.alarms = alarms
    }

    /// Whether the operator is told of it.
    package var isWatched: Bool { alarms ?? (unit == .money && (subject == .everyone || subject == .app)) }

    /// Whether the rule counts calls of that function (nil: none) and provider.
    package func counts(function: String?, provider: String) -> Bool {
      (self.function == nil || self.function == function)
        && (self.provider == nil || self.provider == provider)
    }
  }
}
