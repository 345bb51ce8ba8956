/// Passes the octets of an answer on unless they spell a secret (RULES §6.4).
///
/// What is held back is only a suffix that is a proper beginning of a secret, so that a stream is not delayed
/// by a single event.
package struct SecretFilter: Sendable {
  /// One secret and how much of it the last octets spell (Knuth, Morris, Pratt).
  private struct Matcher: Sendable {
    let secret: [UInt8]
    let fallback: [Int]
    var matched = 0

    init(_ secret: [UInt8]) {
      self.secret = secret
      var table = [Int](repeating: 0, count: secret.count)
      var length = 0
      for index in secret.indices.dropFirst() {
        while length > 0, secret[index] != secret[length] { length = table[length - 1] }
        if secret[index] == secret[length] { length += 1 }
        table[index] = length
      }
      fallback = table
    }

    /// True when `octet` completes the secret.
    mutating func read(_ octet: UInt8) -> Bool {
      while matched > 0, secret[matched] != octet { matched = fallback[matched - 1] }
      if secret[matched] == octet { matched += 1 }
      guard matched == secret.count else { return false }
      matched = 0
      return true
    }
  }

  /// A secret shorter than this would cut answers by chance and is not looked for.
  package static let minimumLength = 8

  private var matchers: [Matcher]
  private var held: [UInt8] = []
  /// Whether a secret was found: nothing passes any more.
  package private(set) var isCut = false

  /// A filter for the octets of these secrets.
  package init(secrets: [[UInt8]]) {
    matchers = secrets.filter { $0.count >= Self.minimumLength }.map(Matcher.init)
  }

  /// The octets that may pass now; nil once a secret was found.
  package mutating func pass(_ chunk: [UInt8]) -> [UInt8]? {
    if isCut { return nil }
    if matchers.isEmpty { return chunk }
    var longest = 0
    for index in matchers.indices {
      for octet in chunk where matchers[index].read(octet) {
        isCut = true
        held = []
        return nil
      }
      longest = max(longest, matchers[index].matched)
    }
    if held.isEmpty, longest == 0 { return chunk }
    var octets = held + chunk
    let kept = min(longest, octets.count)
    held = Array(octets.suffix(kept))
    octets.removeLast(kept)
    return octets
  }

  /// What was held back when the answer ended: the beginning of a secret is none.
  package mutating func end() -> [UInt8] {
    defer { held = [] }
    return isCut ? [] : held
  }
}
