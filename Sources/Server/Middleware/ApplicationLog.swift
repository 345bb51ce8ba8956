import Encodings

/// The log: one JSON object a line. No line holds a query, a body, a token or a key of ours.
struct ApplicationLog: Sendable {
  private let level: Configuration.LogLevel
  private let now: @Sendable () -> Int64
  private let sink: @Sendable (String) -> Void

  init(_ environment: Environment) {
    level = environment.configuration.logLevel
    now = environment.now
    sink = environment.log
  }

  /// What an operator may want to know.
  func info(_ event: String, _ members: [(String, JSONValue)] = []) {
    guard level != .error else { return }
    write("info", event, members)
  }

  /// What an operator must act on.
  func error(_ event: String, _ members: [(String, JSONValue)] = []) {
    write("error", event, members)
  }

  /// RFC 3339 with milliseconds.
  private static func time(_ milliseconds: Int64) -> String {
    let millis = ((milliseconds % 1000) + 1000) % 1000
    let seconds = (milliseconds - millis) / 1000
    let fraction = String(1000 + millis).dropFirst()
    return CivilTime(secondsSince1970: seconds).rfc3339.dropLast() + ".\(fraction)Z"
  }

  private func write(_ level: JSONValue, _ event: String, _ members: [(String, JSONValue)]) {
    let head: [(String, JSONValue)] = [
      ("time", .string(Self.time(now()))), ("level", level), ("event", .string(event)),
    ]
    sink(JSONValue.object(head + members).text)
  }
}
