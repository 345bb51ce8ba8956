import BramleyAPI
import Encodings

/// A challenge that this client is willing to sign.
struct SignableChallenge: Sendable, Equatable {
  /// As it was issued.
  let text: String
  /// 1 to 64 octets: no server gets arbitrary bytes signed (RULES §1.3).
  let bytes: [UInt8]

  init?(_ text: String) {
    guard text.utf8.count <= 96, let bytes = Base64.decode(text), (1...64).contains(bytes.count) else {
      return nil
    }
    self.text = text
    self.bytes = bytes
  }
}

/// Challenges for requests, fetched ahead or brought by answers; each is taken once.
struct ChallengePool {
  private struct Entry {
    let challenge: SignableChallenge
    /// Seconds since 1970 by this device's clock.
    let until: Int64
  }

  private var entries: [Entry] = []
  private static let capacity = 32
  /// How long a challenge is used whose end is not known, seconds. They hold for 300.
  private static let assumedLife: Int64 = 240
  /// Time for the request to arrive, seconds.
  private static let margin: Int64 = 10

  var count: Int { entries.count }

  /// Adds what the server issued; false when it is nothing to sign. Its end is told by the server's clock:
  /// where that cannot be right by ours, ours is wrong, and an assumed life is used.
  mutating func add(_ issued: IssuedChallenge, now: Int64) -> Bool {
    guard let challenge = SignableChallenge(issued.text) else { return false }
    add(challenge, until: Self.until(issued.expiresAt, now: now))
    return true
  }

  /// Adds the challenge that an answer brought.
  mutating func add(next text: String, now: Int64) {
    guard let challenge = SignableChallenge(text) else { return }
    add(challenge, until: now + Self.assumedLife)
  }

  /// The one that ends first of those that still hold.
  mutating func take(now: Int64) -> SignableChallenge? {
    // What lies far ahead was put in before the clock was set back.
    entries.removeAll { $0.until <= now || $0.until > now + 600 }
    guard let first = entries.indices.min(by: { entries[$0].until < entries[$1].until }) else { return nil }
    return entries.remove(at: first).challenge
  }

  mutating func clear() { entries = [] }

  /// Until when to use a challenge, by this device's clock.
  static func until(_ expiresAt: Int64, now: Int64) -> Int64 {
    let (left, overflow) = expiresAt.subtractingReportingOverflow(now)
    let plausible = !overflow && (1...600).contains(left)
    return now + (plausible ? min(left - margin, assumedLife) : assumedLife)
  }

  private mutating func add(_ challenge: SignableChallenge, until: Int64) {
    if entries.contains(where: { $0.challenge == challenge }) { return }
    if entries.count >= Self.capacity { entries.removeFirst() }
    entries.append(Entry(challenge: challenge, until: until))
  }
}
