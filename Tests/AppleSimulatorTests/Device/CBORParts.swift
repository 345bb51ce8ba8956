/// Takes an object that the simulator wrote apart: enough for tests, and independent of the verifier.
struct CBORParts {
  private var rest: ArraySlice<UInt8>

  /// The members of a map, nested maps flattened; arrays give `name.0`, `name.1`.
  static func members(_ bytes: [UInt8]) -> [String: [UInt8]] {
    var reader = CBORParts(rest: bytes[...])
    var members: [String: [UInt8]] = [:]
    reader.collect(into: &members, name: "")
    return reader.rest.isEmpty ? members : [:]
  }

  private mutating func head() -> (major: UInt8, value: Int) {
    let first = rest.removeFirst()
    let short = Int(first & 31)
    guard short >= 24 else { return (first >> 5, short) }
    let count = 1 << (short - 24)
    let value = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(count)
    return (first >> 5, value)
  }

  private mutating func collect(into members: inout [String: [UInt8]], name: String) {
    let (major, value) = head()
    switch major {
    case 2, 3:
      members[name] = Array(rest.prefix(value))
      rest = rest.dropFirst(value)
    case 4: for index in 0..<value { collect(into: &members, name: "\(name).\(index)") }
    case 5:
      for _ in 0..<value {
        let (_, length) = head()
        let key = String(decoding: rest.prefix(length), as: UTF8.self)
        rest = rest.dropFirst(length)
        collect(into: &members, name: key)
      }
    default: members[name] = [UInt8(truncatingIfNeeded: value)]
    }
  }
}
