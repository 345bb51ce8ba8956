import Encodings

/// Names a deletion: 128 random bits that the client makes before it asks, so that it can find out what became of a
/// deletion whose answer was lost (RULES §4.2). Who knows it learns the state and nothing else.
package struct OperationID: Sendable, Hashable {
  package let octets: [UInt8]

  /// So many random octets are 16; nil for another number, and for what nobody drew at random.
  package init?(_ octets: [UInt8]) {
    guard octets.count == 16, Self.isVaried(octets) else { return nil }
    self.octets = octets
  }

  /// Of 32 hexadecimal digits, in either case; nil for anything else. A UUID is refused: six of its bits are fixed,
  /// and in most of its versions more can be guessed.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count == 32, let octets = Hex.decode(String(text)) else { return nil }
    self.init(octets)
  }

  /// Whether the octets and the steps between them differ as those of random numbers do: fewer than one in a
  /// billion of those would be refused, and no counters, patterns or fill values are taken.
  private static func isVaried(_ octets: [UInt8]) -> Bool {
    let steps = zip(octets, octets.dropFirst()).map { $1 &- $0 }
    return Set(octets).count >= 8 && Set(steps).count >= 7
  }
}

extension OperationID: CustomStringConvertible {
  /// 32 hexadecimal digits, lowercase.
  package var description: String { Hex.encode(octets) }
}
