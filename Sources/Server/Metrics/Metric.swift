import Synchronization

/// A number that only grows.
package final class Counter: Sendable {
  private let stored = Atomic<Int>(0)

  package init() {}

  package func add(_ amount: Int = 1) { stored.wrappingAdd(amount, ordering: .relaxed) }

  package var value: Int { stored.load(ordering: .relaxed) }
}

/// A number that goes up and down.
package final class Gauge: Sendable {
  private let stored = Atomic<Int>(0)

  package init() {}

  package func add(_ amount: Int) { stored.wrappingAdd(amount, ordering: .relaxed) }

  package var value: Int { stored.load(ordering: .relaxed) }
}

/// Counters told apart by one label. The values are known beforehand, so that no input can make new series;
/// anything else is counted as `other`.
package final class CounterFamily: Sendable {
  package let label: String
  private let counters: [String: Counter]
  private let other = Counter()

  package init(label: String, values: some Sequence<String>) {
    self.label = label
    counters = Dictionary(values.map { ($0, Counter()) }, uniquingKeysWith: { first, _ in first })
  }

  /// The counter of that value.
  package subscript(value: String) -> Counter { counters[value] ?? other }

  /// Each value with its count, in order.
  var samples: [(String, Int)] {
    counters.map { ($0.key, $0.value.value) }.sorted { $0.0 < $1.0 } + [("other", other.value)]
  }
}

/// Durations in buckets, as Prometheus counts them.
package final class Histogram: Sendable {
  /// Upper bounds in microseconds.
  static let bounds = [500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000, 5_000_000, 30_000_000]
  private let buckets = (0...bounds.count).map { _ in Counter() }
  private let sum = Counter()

  package init() {}

  /// Counts one that took so many nanoseconds.
  package func record(nanoseconds: Int64) {
    let micros = Int(clamping: max(0, nanoseconds) / 1000)
    let index = Self.bounds.firstIndex { micros <= $0 } ?? Self.bounds.count
    buckets[index].add()
    sum.add(micros)
  }

  /// Counts up to each bound, the last without one, and the sum in microseconds.
  var samples: (cumulative: [Int], sum: Int) {
    var total = 0
    let cumulative = buckets.map {
      total += $0.value
      return total
    }
    return (cumulative, sum.value)
  }
}
