/// A parameter of a statement. Parameters are written `$1`, `$2` … in the text, for every database alike.
package enum SQLValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
  /// The 16 octets of a UUID: on SQLite a blob, on PostgreSQL of the type `uuid`.
  case uuid([UInt8])
  /// Arrays, for PostgreSQL alone.
  case integers([Int64])
  case texts([String])
  case blobs([[UInt8]])

  /// NULL for nil.
  package init(_ value: Int64?) {
    self = if let value { .integer(value) } else { .null }
  }

  /// NULL for nil.
  package init(_ value: String?) {
    self = if let value { .text(value) } else { .null }
  }

  /// NULL for nil.
  package init(_ value: [UInt8]?) {
    self = if let value { .blob(value) } else { .null }
  }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(stringLiteral value: String) { self = .text(value) }
  package init(nilLiteral: ()) { self = .null }
}
