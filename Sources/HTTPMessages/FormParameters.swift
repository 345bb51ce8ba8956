/// Names and values as `application/x-www-form-urlencoded` writes them (WHATWG URL §5), in a query or a body.
public struct FormParameters: Sendable, Equatable {
  /// A name with its value, both decoded.
  public struct Parameter: Sendable, Equatable {
    /// The name.
    public var name: String
    /// The value; empty where there is no `=`.
    public var value: String

    /// A parameter.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The parameters in order.
  public private(set) var parameters: [Parameter]

  /// These parameters in this order.
  public init(_ parameters: [(String, String)] = []) {
    self.parameters = parameters.map { Parameter(name: $0.0, value: $0.1) }
  }

  /// Reads a text; nil for a `%` without two hexadecimal digits, and for octets that are no UTF-8.
  public init?(parsing text: some StringProtocol) {
    parameters = []
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      guard let decodedName = Self.decode(name), let value = Self.decode(pair.dropFirst(name.count + 1))
      else { return nil }
      parameters.append(Parameter(name: decodedName, value: value))
    }
  }

  /// The first value of that name.
  public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

  /// Every value of that name, in order.
  public func values(_ name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }

  /// One more parameter.
  public mutating func append(_ name: String, _ value: String) {
    parameters.append(Parameter(name: name, value: value))
  }

  /// The text. A blank is `%20`, which a query, a fragment and a form all read as one.
  public var text: String {
    parameters.map { Self.encode($0.name) + "=" + Self.encode($0.value) }.joined(separator: "&")
  }

  /// The text with everything but the unreserved characters of RFC 3986 §2.3 as `%XX`.
  public static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var out: [UInt8] = []
    for octet in text.utf8 {
      switch octet {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        out.append(octet)
      default:
        out.append(UInt8(ascii: "%"))
        out.append(digits[Int(octet >> 4)])
        out.append(digits[Int(octet & 15)])
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  private static func decode(_ text: some Sequence<UInt8>) -> String? {
    var octets: [UInt8] = []
    var rest = Array(text)[...]
    while let octet = rest.popFirst() {
      switch octet {
      case UInt8(ascii: "+"): octets.append(0x20)
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          return nil
        }
        octets.append(high << 4 | low)
      default: octets.append(octet)
      }
    }
    return String(validating: octets, as: UTF8.self)
  }

  private static func digit(_ octet: UInt8) -> UInt8? {
    switch octet {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): octet - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): octet - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): octet - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
