import Synchronization

/// What a simulated provider was asked, and what it would have billed. Counted as it happens: output tokens of
/// a stream when their octets are pulled, so that an abort is billed for what was made until then.
public final class SimulatedBilling: Sendable {
  private let callCount = Atomic<Int>(0)
  private let refusalCount = Atomic<Int>(0)
  private let inputCount = Atomic<Int>(0)
  private let outputCount = Atomic<Int>(0)
  private let openCount = Atomic<Int>(0)
  private let abortCount = Atomic<Int>(0)

  /// Nothing yet.
  public init() {}

  /// Every request that arrived.
  public var calls: Int { callCount.load(ordering: .relaxed) }
  /// Those that were answered with an error before any answer began.
  public var refusals: Int { refusalCount.load(ordering: .relaxed) }
  /// Input tokens billed.
  public var inputTokens: Int { inputCount.load(ordering: .relaxed) }
  /// Output tokens billed.
  public var outputTokens: Int { outputCount.load(ordering: .relaxed) }
  /// Streams that have begun and neither ended nor been dropped.
  public var openStreams: Int { openCount.load(ordering: .relaxed) }
  /// Streams that were dropped before their end.
  public var abortedStreams: Int { abortCount.load(ordering: .relaxed) }

  func countCall() -> Int { callCount.add(1, ordering: .relaxed).newValue }
  func countRefusal() { refusalCount.add(1, ordering: .relaxed) }
  func count(input: Int) { inputCount.add(input, ordering: .relaxed) }
  func count(output: Int) { outputCount.add(output, ordering: .relaxed) }
  func streamBegan() { openCount.add(1, ordering: .relaxed) }
  func streamEnded(aborted: Bool) {
    openCount.subtract(1, ordering: .relaxed)
    if aborted { abortCount.add(1, ordering: .relaxed) }
  }
}
