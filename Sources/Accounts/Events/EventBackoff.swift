/// When an event that was not taken is sent again: eleven attempts over three days, as Standard Webhooks advises.
package enum EventBackoff {
  /// Milliseconds after each failed attempt, before they are spread.
  static let delays: [Int64] = [
    5_000, 60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 72_000_000,
  ]
  /// The longest that an endpoint may ask for.
  static let longest: Int64 = 86_400_000

  /// How long to wait after a failed attempt, milliseconds; nil where it was the last.
  ///
  /// - Parameters:
  ///   - attempt: from 1.
  ///   - asked: what the endpoint's Retry-After says, milliseconds.
  ///   - random: any octet, so that what failed together does not come back together.
  package static func delay(after attempt: Int64, asked: Int64? = nil, random: UInt8) -> Int64? {
    guard attempt >= 1, attempt <= delays.count else { return nil }
    let base = delays[Int(attempt) - 1]
    // From four fifths to six fifths.
    let spread = base / 5 * 4 + base / 5 * 2 * Int64(random) / 255
    return max(spread, min(asked ?? 0, longest))
  }
}
