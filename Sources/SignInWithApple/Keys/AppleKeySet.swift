package import Cryptography

/// Apple's signing keys as this server knows them, and the rule of when to ask for them again. A value: whoever
/// holds it asks Apple outside of any lock, and says what came of it.
///
/// Keys come and go without notice, and several sign at once. So an unknown name leads to one request, of all who
/// wait, at most once a minute; a name that Apple did not know is remembered, so that invented names cause no
/// requests; and what is known stays until Apple has answered anew, however long that takes.
package struct AppleKeySet: Sendable {
  /// What to do about a name.
  package enum Answer: Sendable, Equatable {
    /// The key.
    case key(RSA.PublicKey)
    /// Ask Apple now, and report by ``fetched(_:now:)`` or ``failed(now:)``; then look again.
    case fetch
    /// Somebody is asking; look again when that is reported.
    case wait
    /// Apple was asked and has no such key.
    case unknown
    /// Apple was asked a moment ago, in vain or before this name came up: to be tried again after so many seconds.
    case unavailable(retryAfter: Int64)
  }

  /// After this time known keys are asked for again, seconds.
  package static let life: Int64 = 6 * 3_600
  /// The shortest time between two requests, seconds.
  package static let interval: Int64 = 60
  /// How long a name that Apple did not know is remembered, seconds.
  package static let unknownLife: Int64 = 600
  /// A request that was not reported on for so long is given up, seconds.
  package static let patience: Int64 = 30
  /// How many names are remembered.
  package static let unknownLimit = 256

  private var keys: [String: RSA.PublicKey] = [:]
  private var fetchedAt: Int64?
  private var attemptedAt: Int64?
  private var fetchingSince: Int64?
  /// Names that were asked for while a request was on its way.
  private var awaited: Set<String> = []
  /// Names that Apple did not know, and when it said so.
  private var unknown: [String: Int64] = [:]

  /// Knows no key.
  package init() {}

  /// The names of the known keys.
  package var kids: Set<String> { Set(keys.keys) }

  /// What to do about the key of that name.
  ///
  /// - Parameter now: seconds since 1970.
  package mutating func lookup(_ kid: String, now: Int64) -> Answer {
    if let key = keys[kid] {
      // An old key holds while somebody asks, or cannot: losing Apple's answer must not lose its keys.
      guard !isYounger(fetchedAt, than: Self.life, now), !isFetching(now), mayAttempt(now) else {
        return .key(key)
      }
      begin(kid, now)
      return .fetch
    }
    if isYounger(unknown[kid], than: Self.unknownLife, now) { return .unknown }
    if isFetching(now) {
      if awaited.count < Self.unknownLimit { awaited.insert(kid) }
      return .wait
    }
    guard mayAttempt(now) else {
      let elapsed = attemptedAt.map { now.subtracting($0) } ?? 0
      return .unavailable(retryAfter: max(1, Self.interval - elapsed))
    }
    begin(kid, now)
    return .fetch
  }

  /// Takes over what Apple answered. A set without a usable key is no answer: it counts as a failure.
  package mutating func fetched(_ set: JWKSet, now: Int64) {
    let found = set.rsa
    guard !found.isEmpty else { return failed(now: now) }
    keys = found
    fetchedAt = now
    fetchingSince = nil
    unknown = unknown.filter { isYounger($0.value, than: Self.unknownLife, now) && found[$0.key] == nil }
    for kid in awaited where found[kid] == nil {
      if unknown.count >= Self.unknownLimit, let oldest = unknown.min(by: { $0.value < $1.value }) {
        unknown[oldest.key] = nil
      }
      unknown[kid] = now
    }
    awaited = []
  }

  /// Apple did not answer, or not with keys. What is known stays.
  package mutating func failed(now: Int64) {
    fetchingSince = nil
    awaited = []
  }

  private mutating func begin(_ kid: String, _ now: Int64) {
    fetchingSince = now
    attemptedAt = now
    awaited = [kid]
  }

  private func isFetching(_ now: Int64) -> Bool { isYounger(fetchingSince, than: Self.patience, now) }

  private func mayAttempt(_ now: Int64) -> Bool { !isYounger(attemptedAt, than: Self.interval, now) }

  /// Whether `time` is less than `age` ago. A time in the future is not: after the clock was set back, nothing
  /// waits for it to come round again.
  private func isYounger(_ time: Int64?, than age: Int64, _ now: Int64) -> Bool {
    guard let time else { return false }
    return (0..<age).contains(now.subtracting(time))
  }
}
