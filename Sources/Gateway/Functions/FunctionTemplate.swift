/// A text of the operator with places, `{{name}}`, for an app's input. It is read once, when the server starts:
/// what is filled in is never read for places again.
package struct FunctionTemplate: Sendable, Equatable {
  private enum Segment: Sendable, Equatable {
    case text(String)
    case place(String)
  }

  /// Why a text is no template.
  package enum Flaw: Error, Sendable, Equatable {
    /// `{{` that no `}}` follows.
    case unclosed
    /// What stands between the braces is no name of a field.
    case name(String)
  }

  /// How a place is filled.
  package enum Filling: Sendable {
    /// Between tags that name the field, for a model that takes instructions.
    case delimited
    /// As JSON alone, for a model that draws what it reads.
    case bare
  }

  private let segments: [Segment]

  package init(_ text: String) throws(Flaw) {
    var segments: [Segment] = []
    var rest = text.utf8[...]
    func find(_ pair: UInt8, in octets: Substring.UTF8View) -> Substring.UTF8View.Index? {
      octets.indices.first { octets[$0] == pair && octets[octets.index(after: $0)...].first == pair }
    }
    while let open = find(UInt8(ascii: "{"), in: rest) {
      if open > rest.startIndex { segments.append(.text(String(Substring(rest[..<open])))) }
      let inner = rest[rest.index(open, offsetBy: 2)...]
      guard let close = find(UInt8(ascii: "}"), in: inner) else { throw .unclosed }
      let name = String(Substring(inner[..<close].drop { $0 == 0x20 }.reversedDropping(0x20)))
      guard FunctionField.isName(name) else { throw .name(name) }
      segments.append(.place(name))
      rest = inner[inner.index(close, offsetBy: 2)...]
    }
    if !rest.isEmpty { segments.append(.text(String(Substring(rest)))) }
    self.segments = segments
  }

  /// The names of the places.
  package var places: Set<String> {
    Set(segments.compactMap { if case .place(let name) = $0 { name } else { nil } })
  }

  /// The text with the input in its places.
  func filled(with input: FunctionInput, _ filling: Filling) -> String {
    segments.map { segment in
      switch segment {
      case .text(let text): return text
      case .place(let name):
        let value = input.texts[name] ?? "null"
        return filling == .bare ? value : "<input name=\"\(name)\">\(value)</input>"
      }
    }.joined()
  }
}

extension Substring.UTF8View {
  fileprivate func reversedDropping(_ octet: UInt8) -> Substring.UTF8View {
    var end = endIndex
    while end > startIndex, self[index(before: end)] == octet { end = index(before: end) }
    return self[startIndex..<end]
  }
}
