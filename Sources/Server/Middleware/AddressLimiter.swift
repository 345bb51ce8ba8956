/// Bounds how often an address may ask, by GCRA in memory: one time stamp an address, and one for all of an IPv6
/// site, which may ask more often by a factor (RULES §5.1).
///
/// It keeps two generations of a bounded size, so that a flood of addresses forgets the oldest and never
/// fills the memory. A restart forgets all: it guards the processor, not the quotas, which are the ledger's.
actor AddressLimiter {
  /// So many requests at once, refilled evenly.
  private struct Rate {
    let interval: Int64
    let tolerance: Int64

    init(requests: Int64, per nanoseconds: Int64) {
      interval = max(1, nanoseconds / max(1, requests))
      tolerance = interval * max(0, requests - 1)
    }
  }

  private let address: Rate
  private let site: Rate
  private let capacity: Int
  private var young: [String: Int64] = [:]
  private var old: [String: Int64] = [:]

  /// So many requests of an address at once, refilled evenly over `nanoseconds`; of a site `siteFactor` times as
  /// many.
  init(requests: Int64, per nanoseconds: Int64, siteFactor: Int64, capacity: Int = 32_768) {
    address = Rate(requests: requests, per: nanoseconds)
    site = Rate(requests: requests * max(1, siteFactor), per: nanoseconds)
    self.capacity = capacity
  }

  /// Counts `amount` requests of the address and its site; nil when they are let in, else the nanoseconds until
  /// they would be. `now` is an uptime. A refusal counts for neither.
  func admit(_ name: String, amount: Int64 = 1, now: Int64) -> Int64? {
    var lines = [(name, address)]
    if let site = IPAddress.siteName(of: name) { lines.append((site, self.site)) }
    var arrivals: [Int64] = []
    var longest: Int64?
    for (name, rate) in lines {
      let stored = young[name] ?? old[name] ?? now
      // A stamp beyond what the rule can make is a clock's slip (RULES §5.6).
      let arrival = min(max(stored, now), now + rate.tolerance + rate.interval)
      let wait = arrival + rate.interval * (amount - 1) - rate.tolerance - now
      if wait > 0 {
        if arrival < stored { young[name] = arrival }
        longest = max(wait, longest ?? 0)
      }
      arrivals.append(arrival + rate.interval * amount)
    }
    if let longest { return longest }
    if young.count >= capacity {
      old = young
      young = [:]
    }
    for ((name, _), arrival) in zip(lines, arrivals) { young[name] = arrival }
    return nil
  }

  /// As ``admit(_:amount:now:)``, and throws a ``Failure`` where the address is not let in.
  func require(_ name: String, amount: Int64 = 1, now: Int64) throws {
    if let wait = admit(name, amount: amount, now: now) {
      throw Failure.addressLimited(seconds: (wait + 999_999_999) / 1_000_000_000)
    }
  }
}
