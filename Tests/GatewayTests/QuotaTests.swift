import Gateway
import HTTPMessages
import Testing

@Suite("Quotas and what an app is told of them")
struct QuotaTests {
  private static let now: Int64 = 1_796_000_000_000
  private static let day = Window(id: "2026-11-30", start: now - 3_600_000, end: now + 40_211_000)

  @Test("RateLimit and RateLimit-Policy say requests, the true length of the window, and no money")
  func fields() {
    let fields = QuotaFields.fields(
      [
        QuotaStanding(rule: "daily", limit: 20, remaining: 3, window: Self.day),
        QuotaStanding(rule: "budget", limit: 5_000_000_000_000, remaining: 1, window: Self.day, unit: .money),
        QuotaStanding(
          rule: "a\"b\\c\u{7}é", limit: .max, remaining: -4,
          window: Window(id: "lifetime", start: 0, end: .max)),
      ], now: Self.now)
    #expect(fields["ratelimit-policy"] == #""daily";q=20;w=43811, "a\"b\\c";q=999999999999999"#)
    #expect(fields["ratelimit"] == #""daily";r=3;t=40211, "a\"b\\c";r=0"#)
    #expect(QuotaFields.fields([], now: 0).lines.isEmpty)
  }

  @Test("A used-up day says when the next begins, never too early, and stops SDKs")
  func exhausted() {
    let standing = QuotaStanding(rule: "daily", limit: 20, remaining: 0, window: Self.day)
    let error = QuotaRefusal.exhausted(standing).error(now: Self.now - 1)
    #expect(error.status == 429)
    #expect(error.code == "quota_exceeded")
    #expect(error.fields["retry-after"] == "40212")
    #expect(error.fields["x-should-retry"] == "false")
    #expect(error.fields["ratelimit"] == #""daily";r=0;t=40212"#)
    let money = QuotaStanding(rule: "budget", limit: 1, remaining: 0, window: Self.day, unit: .money)
    let budget = QuotaRefusal.exhausted(money).error(now: Self.now)
    #expect(budget.code == "budget_exceeded")
    #expect(budget.fields["ratelimit"] == nil)
    let forever = Window(id: "lifetime", start: 0, end: .max)
    let lifetime = QuotaStanding(rule: "trial", limit: 1, remaining: 0, window: forever)
    #expect(QuotaRefusal.exhausted(lifetime).error(now: Self.now).fields["retry-after"] == nil)
  }

  @Test("Bursts and requests in flight say so")
  func others() {
    let burst = QuotaRefusal.burst(rule: "b", retryAt: Self.now + 1_001).error(now: Self.now)
    #expect(burst.fields["retry-after"] == "2")
    #expect(burst.fields["x-should-retry"] == "false")
    #expect(QuotaRefusal.burst(rule: "b", retryAt: .min).error(now: .max).fields["retry-after"] == "1")
    #expect(QuotaRefusal.inFlight(rule: "p").error(now: Self.now).code == "too_many_in_flight")
  }
}

@Suite("The circuit breaker")
struct CircuitBreakerTests {
  private static func key(_ number: UInt8) -> [UInt8] { [number] }

  @Test("RULES §5.4: failures of fewer than five keys never open it")
  func fewKeys() {
    var breaker = CircuitBreaker(distinctKeys: 1)
    for round in 0..<1_000 {
      breaker.failed(key: Self.key(UInt8(round % 4)), now: Int64(round))
      #expect(breaker.admit(now: Int64(round)) == .allowed)
    }
  }

  @Test("Five keys open it, one probe at a time closes it or keeps it open")
  func opens() {
    var breaker = CircuitBreaker(span: 1_000, pause: 100)
    for number in 0..<5 { breaker.failed(key: Self.key(UInt8(number)), now: 10) }
    #expect(breaker.admit(now: 11) == .refused(retryAt: 110))
    #expect(breaker.admit(now: 109) == .refused(retryAt: 110))
    #expect(breaker.admit(now: 110) == .probe)
    #expect(breaker.admit(now: 111) == .refused(retryAt: 210))
    breaker.failed(key: Self.key(9), now: 120)
    #expect(breaker.admit(now: 121) == .refused(retryAt: 220))
    #expect(breaker.admit(now: 220) == .probe)
    breaker.succeeded()
    #expect(breaker.admit(now: 221) == .allowed)
    // A probe that never reports is replaced.
    for number in 0..<5 { breaker.failed(key: Self.key(UInt8(number)), now: 300) }
    #expect(breaker.admit(now: 400) == .probe)
    #expect(breaker.admit(now: 500) == .probe)
  }

  @Test("Old failures and failures before a success do not count")
  func forgets() {
    var breaker = CircuitBreaker(span: 1_000, pause: 100)
    for number in 0..<4 { breaker.failed(key: Self.key(UInt8(number)), now: 0) }
    breaker.failed(key: Self.key(4), now: 1_000)
    #expect(breaker.admit(now: 1_000) == .allowed)
    for number in 0..<4 { breaker.failed(key: Self.key(UInt8(number + 10)), now: 3_000) }
    breaker.succeeded()
    breaker.failed(key: Self.key(20), now: 3_001)
    #expect(breaker.admit(now: 3_001) == .allowed)
  }

  @Test("A probe that did not go out leaves its place to the next call")
  func withdrawn() {
    var breaker = CircuitBreaker(pause: 100)
    for number in 0..<5 { breaker.failed(key: Self.key(UInt8(number)), now: 0) }
    breaker.probeWithdrawn(now: 50)
    #expect(breaker.admit(now: 50) == .refused(retryAt: 100))
    #expect(breaker.admit(now: 100) == .probe)
    breaker.probeWithdrawn(now: 101)
    #expect(breaker.admit(now: 101) == .probe)
    #expect(breaker.admit(now: 102) == .refused(retryAt: 201))
  }

  @Test("A clock that is put back does not keep it open")
  func clockBack() {
    var breaker = CircuitBreaker(pause: 100)
    for number in 0..<5 { breaker.failed(key: Self.key(UInt8(number)), now: 1_000_000) }
    #expect(breaker.admit(now: 5) == .probe)
  }
}
