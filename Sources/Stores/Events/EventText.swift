import Encodings

/// The body of an event as Standard Webhooks has it: `type`, `timestamp` and `data`.
enum EventText {
  static func body(type: String, time: Int64, data: JSONValue, contact: JSONValue?) -> [UInt8] {
    var members: [(String, JSONValue)] = []
    if case .object(let known) = data { members = known }
    if let contact { members.append(("contact", contact)) }
    return JSONValue.object([
      ("type", .string(type)), ("timestamp", .string(timestamp(time))), ("data", .object(members)),
    ]).bytes
  }

  /// RFC 3339 with milliseconds.
  private static func timestamp(_ milliseconds: Int64) -> String {
    let text = CivilTime(secondsSince1970: milliseconds / 1_000).rfc3339
    let fraction = String(max(milliseconds % 1_000, 0))
    let padded = String(repeating: "0", count: 3 - fraction.count) + fraction
    return "\(text.dropLast()).\(padded)Z"
  }
}
