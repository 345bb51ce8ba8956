import Gateway

/// A provider's circuit breaker, shared by the routes to it.
actor ProviderHealth {
  private var breaker = CircuitBreaker()

  /// Whether a call may go out, at an instant in milliseconds since 1970.
  func admit(now: Int64) -> CircuitBreaker.Verdict { breaker.admit(now: now) }

  /// The call that was let out as a probe was refused for another reason.
  func probeWithdrawn(now: Int64) { breaker.probeWithdrawn(now: now) }

  /// How the provider answered a key's call: an answer of the 5xx kind is its failure, anything else is none.
  func answered(_ status: Int, keyID: [UInt8]?, now: Int64) {
    if status >= 500 { breaker.failed(key: keyID ?? [], now: now) } else { breaker.succeeded() }
  }
}
