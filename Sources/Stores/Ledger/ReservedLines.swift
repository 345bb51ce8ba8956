import Admission

/// The lines of a reservation as one blob: for each its kind in one octet, then subject (zigzag), rule, period and
/// amount (zigzag) as numbers of 7 bits an octet, least first; where the kind says so, the limit (zigzag) as well.
enum ReservedLines {
  struct Line: Equatable {
    var key: LineRows.Key
    var kind: ReservedLine.Kind
    var amount: Int64
    /// See `ReservedLine.alarmLimit`.
    var alarmLimit: Int64?
  }

  /// Beside the kind: the limit follows.
  private static let withLimit: UInt8 = 64

  static func encode(_ lines: [Line]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.count * 10)
    for line in lines {
      bytes.append(line.kind.rawValue | (line.alarmLimit == nil ? 0 : withLimit))
      append(zigzag(line.key.subject), to: &bytes)
      append(UInt64(bitPattern: line.key.rule), to: &bytes)
      append(UInt64(bitPattern: line.key.period), to: &bytes)
      append(zigzag(line.amount), to: &bytes)
      if let limit = line.alarmLimit { append(zigzag(limit), to: &bytes) }
    }
    return bytes
  }

  /// nil for bytes that `encode` does not make.
  static func decode(_ bytes: [UInt8]) -> [Line]? {
    var rest = bytes[...]
    var lines: [Line] = []
    while let first = rest.popFirst() {
      guard let kind = ReservedLine.Kind(rawValue: first & ~withLimit), let subject = number(&rest),
        let rule = number(&rest),
        let period = number(&rest), let amount = number(&rest)
      else { return nil }
      let key = LineRows.Key(
        subject: unzigzag(subject), rule: Int64(bitPattern: rule), period: Int64(bitPattern: period))
      var line = Line(key: key, kind: kind, amount: unzigzag(amount))
      if first & withLimit != 0 {
        guard let limit = number(&rest) else { return nil }
        line.alarmLimit = unzigzag(limit)
      }
      lines.append(line)
    }
    return lines
  }

  private static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value << 1) ^ (value >> 63)) }

  private static func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var value = value
    while value > 127 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 128)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = bytes.popFirst(), shift < 64 {
      value |= UInt64(byte & 127) << shift
      if byte < 128 { return value }
      shift += 7
    }
    return nil
  }
}
