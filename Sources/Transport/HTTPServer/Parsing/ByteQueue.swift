/// Octets that came and were not taken yet.
package struct ByteQueue: Sendable {
  /// All octets held; those before ``start`` were taken.
  package private(set) var storage: [UInt8] = []
  /// Where the octets that were not taken begin.
  package private(set) var start = 0

  /// A queue that holds nothing.
  package init() {}

  /// How many octets wait.
  package var count: Int { storage.count - start }
  /// Whether none waits.
  package var isEmpty: Bool { start == storage.count }

  /// Adds octets behind the others.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 { compact() }
    storage.append(contentsOf: bytes)
  }

  /// Takes `count` octets, at most all.
  package mutating func drop(_ count: Int) {
    start = min(start + max(0, count), storage.count)
    if start == storage.count { compact() }
  }

  /// Takes `count` octets, at most all, and hands them out.
  package mutating func take(_ count: Int) -> [UInt8] {
    let end = min(start + max(0, count), storage.count)
    if start == 0, end == storage.count {
      let all = storage
      storage = []
      return all
    }
    let taken = Array(storage[start..<end])
    drop(taken.count)
    return taken
  }

  /// Gives the memory back; an idle connection needs none.
  package mutating func release() { if isEmpty { self = ByteQueue() } }

  private mutating func compact() {
    if start == storage.count {
      storage.removeAll(keepingCapacity: true)
    } else {
      storage.removeSubrange(..<start)
    }
    start = 0
  }
}
