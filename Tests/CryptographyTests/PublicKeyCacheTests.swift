import Cryptography
import Testing

@Suite("Public key cache")
struct PublicKeyCacheTests {
  @Test("the least recently used key goes first")
  func eviction() throws {
    let points = try (0..<4).map { _ in try P256.PrivateKey().point }
    let cache = PublicKeyCache(capacity: 3)
    for point in points[..<3] { #expect(try cache.key(point: point).point == point) }
    _ = try cache.key(point: points[0])
    _ = try cache.key(point: points[3])
    #expect(cache.count == 3)
    for point in points { #expect(try cache.key(point: point).point == point) }
    #expect(cache.count == 3)
  }

  @Test("what is no key is not kept")
  func invalid() throws {
    let cache = PublicKeyCache(capacity: 2)
    #expect(throws: CryptographyError.invalidKey) { try cache.key(point: [4, 1]) }
    #expect(cache.count == 0)
  }

  @Test("many threads share it")
  func threads() async throws {
    let keys = try (0..<8).map { _ in try P256.PrivateKey() }
    let signatures = try keys.map { try $0.signature(for: [1]) }
    let cache = PublicKeyCache(capacity: 4)
    let held = try await withThrowingTaskGroup(of: Bool.self) { group in
      for task in 0..<4 {
        group.addTask {
          for round in 0..<60 {
            let index = (round &* 7 &+ task) % 8
            let key = try cache.key(point: keys[index].point)
            guard key.isValid(signature: signatures[index], for: [1]) else { return false }
          }
          return true
        }
      }
      return try await group.reduce(true) { $0 && $1 }
    }
    #expect(held)
    #expect(cache.count == 4)
  }
}
