/// Money in `Int64` pico-dollars (10⁻¹² $): prices of single tokens are whole numbers then, and the sum goes to
/// nine million dollars. Prices that are no whole number round up, amounts are exact, and no operation wraps.
package enum PicoDollars {
  /// Pico-dollars in a dollar.
  package static let perDollar: Int64 = 1_000_000_000_000

  /// The amount that a decimal text names, such as `0.125` or `20`, in pico-dollars; nil for a sign, an exponent,
  /// an empty part, a part of a pico-dollar, or more than fits.
  package static func dollars(_ text: String) -> Int64? { parse(text, unit: perDollar, roundsUp: false) }

  /// The price of one token, where `text` is dollars for a million of them; rounded up.
  package static func perMillionTokens(_ text: String) -> Int64? {
    parse(text, unit: perDollar / 1_000_000, roundsUp: true)
  }

  /// `count` times `price`; nil when it does not fit or either is negative.
  package static func product(_ count: Int64, _ price: Int64) -> Int64? {
    guard count >= 0, price >= 0 else { return nil }
    let (value, overflow) = count.multipliedReportingOverflow(by: price)
    return overflow ? nil : value
  }

  /// The sum; nil when it does not fit.
  package static func sum(_ amounts: [Int64]) -> Int64? {
    var total: Int64 = 0
    for amount in amounts {
      let (value, overflow) = total.addingReportingOverflow(amount)
      if overflow { return nil }
      total = value
    }
    return total
  }

  private static func parse(_ text: String, unit: Int64, roundsUp: Bool) -> Int64? {
    let octets = Array(text.utf8)
    guard octets.count <= 64 else { return nil }
    let parts = octets.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, !whole.isEmpty, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    var amount: Int64 = 0
    for octet in whole {
      guard let digit = digit(octet), let next = append(digit, to: amount) else { return nil }
      amount = next
    }
    guard let scaled = product(amount, unit) else { return nil }
    amount = scaled
    guard parts.count == 2 else { return amount }
    var place = unit
    var isExact = true
    for octet in parts[1] {
      guard let digit = digit(octet) else { return nil }
      if place == 1 {
        isExact = isExact && digit == 0
      } else {
        place /= 10
        guard let part = product(digit, place), let next = sum([amount, part]) else { return nil }
        amount = next
      }
    }
    if isExact { return amount }
    return roundsUp ? sum([amount, 1]) : nil
  }

  private static func digit(_ octet: UInt8) -> Int64? {
    octet >= 0x30 && octet <= 0x39 ? Int64(octet - 0x30) : nil
  }

  private static func append(_ digit: Int64, to amount: Int64) -> Int64? {
    product(amount, 10).flatMap { sum([$0, digit]) }
  }
}
