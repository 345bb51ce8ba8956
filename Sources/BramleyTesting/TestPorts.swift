import System

/// Ports of this machine for servers whose addresses have to be known before they start. They are below those that the
/// system hands out.
package enum TestPorts {
  private static let range = 20_000...31_990
  private static let next = Locked(Int.random(in: range))

  /// The first of so many that follow each other, which no other test of this process is dealt. Another program may have
  /// one of them.
  package static func deal(_ count: Int = 1) -> Int {
    next.withLock { next in
      if next + count > range.upperBound { next = range.lowerBound }
      defer { next += count }
      return next
    }
  }
}
