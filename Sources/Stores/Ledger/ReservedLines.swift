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
    var writer = CompactWriter(capacity: lines.count * 10)
    for line in lines {
      writer.append(line.kind.rawValue | (line.alarmLimit == nil ? 0 : withLimit))
      writer.append(line.key.subject)
      writer.append(unsigned: UInt64(bitPattern: line.key.rule))
      writer.append(unsigned: UInt64(bitPattern: line.key.period))
      writer.append(line.amount)
      if let limit = line.alarmLimit { writer.append(limit) }
    }
    return writer.octets
  }

  /// nil for bytes that `encode` does not make.
  static func decode(_ bytes: [UInt8]) -> [Line]? {
    var reader = CompactReader(bytes)
    var lines: [Line] = []
    while let first = reader.octet() {
      guard let kind = ReservedLine.Kind(rawValue: first & ~withLimit), let subject = reader.signed(),
        let rule = reader.unsigned(), let period = reader.unsigned(), let amount = reader.signed()
      else { return nil }
      let key = LineRows.Key(
        subject: subject, rule: Int64(bitPattern: rule), period: Int64(bitPattern: period))
      var line = Line(key: key, kind: kind, amount: amount)
      if first & withLimit != 0 {
        guard let limit = reader.signed() else { return nil }
        line.alarmLimit = limit
      }
      lines.append(line)
    }
    return lines
  }
}
