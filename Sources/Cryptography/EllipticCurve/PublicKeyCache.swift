/// Parsed public keys by their point, the least recently used dropped at the capacity: parsing one costs a
/// third of a verification. A key takes about 3 KB. Shared by all threads.
package final class PublicKeyCache: @unchecked Sendable {
  private struct Node {
    var key: P256.PublicKey
    var newer: Int
    var older: Int
  }

  /// Stands for "none" among the indices.
  private static let none = -1

  private let capacity: Int
  private let lock = Lock()
  private var places: [[UInt8]: Int] = [:]
  private var nodes: [Node] = []
  private var newest = PublicKeyCache.none
  private var oldest = PublicKeyCache.none

  /// A cache of at most `capacity` keys, at least one.
  package init(capacity: Int) { self.capacity = max(1, capacity) }

  /// How many keys it holds.
  package var count: Int { lock.withLock { nodes.count } }

  /// The key of an uncompressed point, from the cache where it is there; throws `invalidKey` for what is no
  /// point, which is not kept.
  package func key(point: [UInt8]) throws(CryptographyError) -> P256.PublicKey {
    if let known = lock.withLock({ find(point) }) { return known }
    // Parsed outside the lock: another thread may do the same, and one of both is kept.
    let key = try P256.PublicKey(point: point)
    return lock.withLock { find(point) ?? insert(key) }
  }

  private func find(_ point: [UInt8]) -> P256.PublicKey? {
    guard let place = places[point] else { return nil }
    if place != newest {
      unlink(place)
      linkAsNewest(place)
    }
    return nodes[place].key
  }

  private func insert(_ key: P256.PublicKey) -> P256.PublicKey {
    let node = Node(key: key, newer: Self.none, older: Self.none)
    let place: Int
    if nodes.count < capacity {
      place = nodes.count
      nodes.append(node)
    } else {
      place = oldest
      unlink(place)
      places[nodes[place].key.point] = nil
      nodes[place] = node
    }
    places[key.point] = place
    linkAsNewest(place)
    return key
  }

  private func unlink(_ place: Int) {
    let node = nodes[place]
    if node.newer == Self.none { newest = node.older } else { nodes[node.newer].older = node.older }
    if node.older == Self.none { oldest = node.newer } else { nodes[node.older].newer = node.newer }
  }

  private func linkAsNewest(_ place: Int) {
    nodes[place].newer = Self.none
    nodes[place].older = newest
    if newest != Self.none { nodes[newest].newer = place }
    newest = place
    if oldest == Self.none { oldest = place }
  }
}
