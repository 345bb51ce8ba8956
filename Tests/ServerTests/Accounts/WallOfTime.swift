import BramleyTesting
import Synchronization

/// A clock for what is made before the server's: it follows that one as soon as there is one.
final class WallOfTime: Sendable {
  private let clock = Mutex<FixedClock?>(nil)

  func follow(_ other: FixedClock) { clock.withLock { $0 = other } }

  var seconds: Int64 { clock.withLock { $0?.seconds ?? 1_796_040_000 } }
}
