/// A value of CBOR (RFC 8949), as far as App Attest has any.
package indirect enum CBORValue: Sendable, Equatable {
  /// Major type 0.
  case unsigned(UInt64)
  /// Major type 1: −1 − the number.
  case negative(UInt64)
  /// Major type 2.
  case bytes(ArraySlice<UInt8>)
  /// Major type 3.
  case text(String)
  /// Major type 4.
  case array([CBORValue])
  /// Major type 5; the keys are unique.
  case map([Entry])
  /// Major type 6.
  case tagged(UInt64, CBORValue)
  /// Major type 7: false, true, null, undefined and other simple values by their number.
  case simple(UInt8)
  /// Major type 7: the bits of a float of 2, 4 or 8 octets.
  case float(UInt64)

  /// A key and its value.
  package struct Entry: Sendable, Equatable {
    package let key: CBORValue
    package let value: CBORValue
  }

  /// The value under a text, where this is a map that has it.
  package subscript(key: String) -> CBORValue? { self[.text(key)] }

  /// The value under a key, where this is a map that has it.
  package subscript(key: CBORValue) -> CBORValue? {
    guard case .map(let entries) = self else { return nil }
    return entries.first { $0.key == key }?.value
  }

  /// The octets of a byte string.
  package var bytes: ArraySlice<UInt8>? { if case .bytes(let bytes) = self { bytes } else { nil } }
  /// The text of a text string.
  package var text: String? { if case .text(let text) = self { text } else { nil } }
  /// The elements of an array.
  package var elements: [CBORValue]? { if case .array(let elements) = self { elements } else { nil } }
  /// The entries of a map.
  package var entries: [Entry]? { if case .map(let entries) = self { entries } else { nil } }
}
