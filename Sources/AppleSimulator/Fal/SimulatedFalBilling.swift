import Synchronization

/// What the simulated fal was asked, and what it would have billed: units in millionths, as fal may bill a part.
public final class SimulatedFalBilling: Sendable {
  private let callCount = Atomic<Int>(0)
  private let refusalCount = Atomic<Int>(0)
  private let unitCount = Atomic<Int>(0)
  private let billedCount = Atomic<Int>(0)
  private let cancelCount = Atomic<Int>(0)
  private let fileCount = Atomic<Int>(0)

  /// Nothing yet.
  public init() {}

  /// Every request that arrived, those about a call in the queue included.
  public var calls: Int { callCount.load(ordering: .relaxed) }
  /// Those that were answered with an error.
  public var refusals: Int { refusalCount.load(ordering: .relaxed) }
  /// Calls that are billed.
  public var billedCalls: Int { billedCount.load(ordering: .relaxed) }
  /// Millionths of a unit that are billed.
  public var microUnits: Int { unitCount.load(ordering: .relaxed) }
  /// Calls that were taken out of the queue before anybody worked on them.
  public var cancelled: Int { cancelCount.load(ordering: .relaxed) }
  /// Files that were fetched.
  public var files: Int { fileCount.load(ordering: .relaxed) }

  func countCall() -> Int { callCount.add(1, ordering: .relaxed).newValue }
  func countRefusal() { refusalCount.add(1, ordering: .relaxed) }
  func countCancelled() { cancelCount.add(1, ordering: .relaxed) }
  func countFile() { fileCount.add(1, ordering: .relaxed) }
  func bill(_ microUnits: Int) {
    billedCount.add(1, ordering: .relaxed)
    unitCount.add(microUnits, ordering: .relaxed)
  }
}
