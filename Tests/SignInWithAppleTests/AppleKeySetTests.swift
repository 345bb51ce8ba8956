import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("Apple's keys")
struct AppleKeySetTests {
  private let now: Int64 = 1_800_000_000
  private let a = TestApple.shared.key.publicKey
  private let b = TestApple.shared.other.publicKey

  private func set(_ keys: [String: RSA.PublicKey]) -> JWKSet {
    JWKSet(keys.map { JWK(.rsa($0.value), kid: $0.key) })
  }

  private func loaded() -> AppleKeySet {
    var keys = AppleKeySet()
    _ = keys.lookup("a", now: now)
    keys.fetched(set(["a": a]), now: now)
    return keys
  }

  @Test("one asks, the others wait, and then all have the key")
  func singleFlight() {
    var keys = AppleKeySet()
    #expect(keys.lookup("a", now: now) == .fetch)
    for _ in 0..<50 { #expect(keys.lookup("a", now: now) == .wait) }
    #expect(keys.lookup("b", now: now + 1) == .wait)
    keys.fetched(set(["a": a]), now: now + 2)
    #expect(keys.lookup("a", now: now + 2) == .key(a))
    #expect(keys.lookup("b", now: now + 2) == .unknown, "Apple was asked while it was wanted")
  }

  @Test("after a rotation the new key is fetched once, and the old one goes with Apple's answer")
  func rotation() {
    var keys = loaded()
    #expect(keys.lookup("b", now: now + 60) == .fetch)
    #expect(keys.lookup("a", now: now + 60) == .key(a), "who needs no new key does not wait")
    keys.fetched(set(["b": b]), now: now + 61)
    #expect(keys.lookup("b", now: now + 61) == .key(b))
    #expect(keys.lookup("a", now: now + 61) == .unavailable(retryAfter: 59))
    #expect(keys.lookup("a", now: now + 120) == .fetch)
    keys.fetched(set(["b": b]), now: now + 120)
    #expect(keys.lookup("a", now: now + 120) == .unknown)
  }

  @Test("invented names cause one request a minute at most, and each of them one")
  func invented() {
    var keys = loaded()
    var requests = 0
    for second in 0..<3_600 as Range<Int64> {
      for number in 0..<5 {
        // Half of them come again and again.
        let name = number % 2 == 0 ? "same\(number)" : "x\(second)-\(number)"
        if keys.lookup(name, now: now + second) == .fetch {
          requests += 1
          keys.fetched(set(["a": a]), now: now + second)
        }
      }
      #expect(keys.lookup("a", now: now + second) == .key(a))
    }
    #expect(requests <= 60)
    var only = loaded()
    requests = 0
    for second in 60..<660 as Range<Int64> where only.lookup("z", now: now + second) == .fetch {
      requests += 1
      only.fetched(set(["a": a]), now: now + second)
    }
    #expect(requests == 1)
  }

  @Test("a key is never dropped before Apple has answered anew")
  func stale() {
    var keys = loaded()
    var time = now + AppleKeySet.life
    for _ in 0..<1_000 {
      #expect(keys.lookup("a", now: time) == .fetch)
      #expect(keys.lookup("a", now: time) == .key(a))
      keys.failed(now: time + 5)
      #expect(keys.lookup("a", now: time + 5) == .key(a))
      time += 3_600
    }
    #expect(keys.lookup("a", now: time) == .fetch)
    keys.fetched(set(["a": b]), now: time)
    #expect(keys.lookup("a", now: time) == .key(b))
  }

  @Test("an answer without a usable key is none")
  func empty() {
    var keys = loaded()
    for set in [JWKSet([]), JWKSet([JWK(.p256(TestKeys.elliptic.publicKey), kid: "a")])] {
      _ = keys.lookup("new", now: now + 100)
      keys.fetched(set, now: now + 100)
      #expect(keys.lookup("a", now: now + 100) == .key(a))
    }
  }

  @Test("while Apple is away an unknown name is to be tried again, and is not called unknown")
  func away() {
    var keys = AppleKeySet()
    #expect(keys.lookup("a", now: now) == .fetch)
    keys.failed(now: now + 10)
    #expect(keys.lookup("a", now: now + 10) == .unavailable(retryAfter: 50))
    #expect(keys.lookup("a", now: now + 59) == .unavailable(retryAfter: 1))
    #expect(keys.lookup("a", now: now + 60) == .fetch)
    keys.fetched(set(["a": a]), now: now + 61)
    #expect(keys.lookup("a", now: now + 61) == .key(a))
  }

  @Test("a name that comes up right after a request is not called unknown either")
  func tooEarly() {
    var keys = loaded()
    #expect(keys.lookup("b", now: now + 1) == .unavailable(retryAfter: 59))
    #expect(keys.lookup("b", now: now + 60) == .fetch)
  }

  @Test("a request that nobody reports on is given up, and a clock set back blocks nothing")
  func lost() {
    var keys = loaded()
    #expect(keys.lookup("b", now: now + 100) == .fetch)
    #expect(keys.lookup("b", now: now + 129) == .wait)
    #expect(keys.lookup("b", now: now + 130) == .unavailable(retryAfter: 30))
    #expect(keys.lookup("b", now: now + 160) == .fetch)
    keys.fetched(set(["a": a]), now: now + 160)
    #expect(keys.lookup("b", now: now + 160) == .unknown)
    let back = now - 1_000_000
    #expect(keys.lookup("a", now: back) == .fetch, "its age is not known any more")
    keys.fetched(set(["a": a]), now: back)
    #expect(keys.lookup("a", now: back) == .key(a))
    for time in [Int64.min, .max, 0, -1] { _ = keys.lookup("b", now: time) }
  }

  @Test("the memory for names is bounded")
  func bounded() {
    var keys = AppleKeySet()
    _ = keys.lookup("first", now: now)
    for number in 0..<10_000 { _ = keys.lookup("n\(number)", now: now) }
    keys.fetched(set(["a": a]), now: now)
    var unknown = 0
    for number in 0..<10_000 where keys.lookup("n\(number)", now: now) == .unknown { unknown += 1 }
    #expect(unknown <= AppleKeySet.unknownLimit)
  }
}

/// A P-256 key that tests share.
enum TestKeys {
  static let elliptic: (private: P256.PrivateKey, publicKey: P256.PublicKey) = {
    guard let key = try? P256.PrivateKey(), let publicKey = try? key.publicKey else { fatalError("no key") }
    return (key, publicKey)
  }()
}
