import CPostgres

/// The answer to a statement: rows as text, and how many were changed.
@safe final class PostgresResult {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe PQclear(handle)
  }

  var status: ExecStatusType { unsafe PQresultStatus(handle) }

  var rows: Int32 { unsafe PQntuples(handle) }

  /// The rows that the statement changed, or that it returned.
  var changes: Int {
    guard let text = unsafe PQcmdTuples(handle) else { return 0 }
    return Int(unsafe String(cString: text)) ?? 0
  }

  /// What was done, such as `COMMIT`.
  var tag: String {
    guard let text = unsafe PQcmdStatus(handle) else { return "" }
    return unsafe String(cString: text)
  }

  /// The SQLSTATE and message of a failure. Only the primary message: details hold values.
  var failure: (state: String, message: String) {
    let state = unsafe bramley_pq_state(handle).map { unsafe String(cString: $0) } ?? ""
    let message = unsafe bramley_pq_message(handle).map { unsafe String(cString: $0) } ?? ""
    return (state, message)
  }

  func isNull(_ row: Int32, _ column: Int32) -> Bool { unsafe PQgetisnull(handle, row, column) == 1 }

  func int64(_ row: Int32, _ column: Int32) -> Int64 {
    guard let base = unsafe PQgetvalue(handle, row, column) else { return 0 }
    let count = Int(unsafe PQgetlength(handle, row, column))
    if let number = unsafe Self.decimal(base, count) { return number }
    // Booleans come out as letters.
    if count == 1 { return unsafe base[0] == 0x74 ? 1 : 0 }
    return Int64(double(row, column).rounded(.towardZero), or: 0)
  }

  /// Most of what the ledger reads; nil for what is no whole number.
  private static func decimal(_ text: UnsafePointer<CChar>, _ count: Int) -> Int64? {
    let isNegative = unsafe count > 0 && text[0] == 0x2D
    var index = isNegative ? 1 : 0
    guard index < count else { return nil }
    var number: Int64 = 0
    while index < count {
      let digit = Int64(unsafe text[index]) - 0x30
      guard (0...9).contains(digit) else { return nil }
      let (tens, isLong) = number.multipliedReportingOverflow(by: 10)
      let (next, isLonger) =
        isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
      if isLong || isLonger { return nil }
      number = next
      index += 1
    }
    return number
  }

  func double(_ row: Int32, _ column: Int32) -> Double {
    Double(string(row, column)) ?? 0
  }

  func string(_ row: Int32, _ column: Int32) -> String {
    unsafe String(decoding: text(row, column), as: UTF8.self)
  }

  /// The octets of a `bytea`, which comes as `\x` and hexadecimal digits, and of a `uuid`; those of anything else
  /// as they are.
  func bytes(_ row: Int32, _ column: Int32) -> [UInt8] {
    let text = unsafe text(row, column)
    switch unsafe PQftype(handle, column) {
    case PostgresParameters.ObjectID.bytea where text.count >= 2:
      return unsafe Self.octets(UnsafeBufferPointer(rebasing: text.dropFirst(2)))
    case PostgresParameters.ObjectID.uuid:
      let digits = unsafe text.filter { $0 != UInt8(ascii: "-") }
      return unsafe digits.withUnsafeBufferPointer { unsafe Self.octets($0) }
    default: return unsafe Array(text)
    }
  }

  /// What the hexadecimal digits say. A value may be long, and a loop waits meanwhile: no branch for a digit.
  private static func octets(_ digits: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    unsafe Array(unsafeUninitializedCapacity: digits.count / 2) { octets, count in
      count = digits.count / 2
      for index in 0..<count {
        let (high, low) = unsafe (value(digits[2 * index]), value(digits[2 * index + 1]))
        unsafe octets.initializeElement(at: index, to: high << 4 | low)
      }
    }
  }

  /// 0x30 to 0x39, and letters, which have bit 6 and begin at 1.
  private static func value(_ digit: UInt8) -> UInt8 { (digit & 0x0f) &+ 9 &* (digit >> 6) }

  /// For as long as this is there.
  private func text(_ row: Int32, _ column: Int32) -> UnsafeBufferPointer<UInt8> {
    let base = unsafe UnsafeRawPointer(PQgetvalue(handle, row, column))
    let count = Int(unsafe PQgetlength(handle, row, column))
    return unsafe UnsafeBufferPointer(
      start: base?.assumingMemoryBound(to: UInt8.self), count: base == nil ? 0 : count)
  }
}

extension Int64 {
  fileprivate init(_ value: Double, or other: Int64) {
    self = Int64(exactly: value) ?? other
  }
}
