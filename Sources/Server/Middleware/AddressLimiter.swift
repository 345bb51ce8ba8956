/// Bounds how often an address may ask, by GCRA in memory: one time stamp an address.
///
/// It keeps two generations of a bounded size, so that a flood of addresses forgets the oldest and never
/// fills the memory. A restart forgets all: it guards the processor, not the quotas, which are the ledger's.
actor AddressLimiter {
  private let interval: Int64
  private let tolerance: Int64
  private let capacity: Int
  private var young: [String: Int64] = [:]
  private var old: [String: Int64] = [:]

  /// So many requests at once, refilled evenly over `nanoseconds`.
  init(requests: Int64, per nanoseconds: Int64, capacity: Int = 32_768) {
    interval = max(1, nanoseconds / max(1, requests))
    tolerance = interval * max(0, requests - 1)
    self.capacity = capacity
  }

  /// Counts `amount` requests of the address; nil when they are let in, else the nanoseconds until they
  /// would be. `now` is an uptime.
  func admit(_ address: String, amount: Int64 = 1, now: Int64) -> Int64? {
    let stored = young[address] ?? old[address] ?? now
    // A stamp beyond what the rule can make is a clock's slip (RULES §5.6).
    let arrival = min(max(stored, now), now + tolerance + interval)
    let wait = arrival + interval * (amount - 1) - tolerance - now
    if wait > 0 {
      if arrival < stored { young[address] = arrival }
      return wait
    }
    if young.count >= capacity {
      old = young
      young = [:]
    }
    young[address] = arrival + interval * amount
    return nil
  }
}
