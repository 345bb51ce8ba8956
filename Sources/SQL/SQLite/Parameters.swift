/// `$n` parameters for SQLite, which takes `$1` for a name and numbers names by their first appearance: `?n` is
/// its spelling of what PostgreSQL and our texts mean by `$n`.
enum Parameters {
  static func numbered(_ sql: String) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(sql.utf8.count)
    var isQuoted = false
    var bytes = Array(sql.utf8)[...]
    while let byte = bytes.popFirst() {
      if byte == UInt8(ascii: "'") { isQuoted.toggle() }
      let isParameter = byte == UInt8(ascii: "$") && !isQuoted && (bytes.first.map { 48...57 ~= $0 } ?? false)
      text.append(isParameter ? UInt8(ascii: "?") : byte)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
