package import System

/// What waits for a connection, each until a time of its own.
package struct WaitingList<Element> {
  private typealias Entry = (element: Element, deadline: MonotonicTime)

  /// In the order in which they came: each is given the same time.
  private var entries: [Entry] = []
  /// How many of those are gone already.
  private var gone = 0
  /// Those that were taken and came back: few, in no order.
  private var returned: [Entry] = []

  package init() {}

  package var isEmpty: Bool { gone == entries.count && returned.isEmpty }

  /// For when its owner has a timer; nil for none.
  private var watched: MonotonicTime?

  /// When the next of them has waited too long.
  package var deadline: MonotonicTime? {
    let times = returned.map(\.deadline) + (gone < entries.count ? [entries[gone].deadline] : [])
    return times.min()
  }

  package mutating func append(_ element: Element, until deadline: MonotonicTime) {
    entries.append((element, deadline))
  }

  package mutating func giveBack(_ element: Element, until deadline: MonotonicTime) {
    returned.append((element, deadline))
  }

  /// At most so many, those that came back before all others.
  package mutating func take(_ limit: Int) -> [Element] {
    var taken: [Element] = []
    while taken.count < limit, let entry = returned.isEmpty ? nil : returned.removeFirst() {
      taken.append(entry.element)
    }
    let count = min(limit - taken.count, entries.count - gone)
    taken += entries[gone..<gone + count].map(\.element)
    drop(count)
    return taken
  }

  /// When its owner is to look after those who wait too long; nil where a timer is set for then, or for sooner.
  /// Asked for after whatever came, and after whatever such a timer has taken.
  package mutating func newWatch() -> MonotonicTime? {
    guard let deadline, watched.map({ deadline < $0 }) ?? true else { return nil }
    watched = deadline
    return deadline
  }

  /// All that have waited too long.
  package mutating func takeLate(_ now: MonotonicTime) -> [Element] {
    if let watched, watched <= now { self.watched = nil }
    let late = returned.filter { $0.deadline <= now }
    returned.removeAll { $0.deadline <= now }
    let count = entries[gone...].prefix { $0.deadline <= now }.count
    defer { drop(count) }
    return late.map(\.element) + entries[gone..<gone + count].map(\.element)
  }

  private mutating func drop(_ count: Int) {
    gone += count
    guard gone == entries.count || gone > 1_000 else { return }
    entries.removeFirst(gone)
    gone = 0
  }
}
