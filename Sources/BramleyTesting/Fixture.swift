package import Encodings
import Testing

/// A JSON file of the fixtures.
package struct Fixture: Sendable {
  /// The file's name without `.json`.
  package let name: String
  /// What it holds.
  package let json: JSONNode

  /// The member's text.
  package func string(_ member: String) -> String? { json[member]?.string }
  /// The octets that the member spells in base64.
  package func base64(_ member: String) -> [UInt8]? { string(member).flatMap { Base64.decode($0) } }
  /// The member's whole number.
  package func integer(_ member: String) -> Int64? { json[member]?.integer }
}

extension Fixture: CustomTestStringConvertible {
  /// The name.
  package var testDescription: String { name }
}
