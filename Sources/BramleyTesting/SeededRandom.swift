/// Randomness that is the same for the same seed (SplitMix64), so that a failing test fails again.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// The sequence of that seed.
  package init(seed: UInt64) { state = seed }

  /// The next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// The next `count` octets.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(count)
    while out.count < count { out.append(UInt8(truncatingIfNeeded: next() >> 32)) }
    return out
  }
}
