extension Session {
  /// Methods that are kept at most.
  package static let methodLimit = 2

  /// Notes that the user proved themself by an identity: each method is listed once, with its newest time.
  package mutating func authenticate(_ method: String, at now: Int64) {
    methods.removeAll { $0.method == method }
    methods.insert(AuthenticationMethod(method: method, timestamp: now / 1_000), at: 0)
    methods = Array(methods.prefix(Self.methodLimit))
  }
}

extension IdentityAssertion {
  /// When the user proved themself by it, seconds since 1970 (RULES §3.3).
  package func authTime(at now: Int64) -> Int64 { min(now, authTime ?? issuedAt) / 1_000 }
}

extension Int64 {
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
