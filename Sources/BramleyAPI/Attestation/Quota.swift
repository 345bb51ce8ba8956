public import Encodings

/// Where a device or its user stands under one of its quotas.
public struct QuotaState: Sendable, Equatable {
  /// The limit's name in the server's configuration, such as `daily`.
  public var name: String
  /// How many of the unit in the window.
  public var limit: Int64
  /// How many are left.
  public var remaining: Int64
  /// When the window ends, seconds since 1970; nil for one that never does.
  public var resetsAt: Int64?
  /// What is counted: `requests`, `tokens` or `images`.
  public var unit: String
  /// The function whose calls alone it counts; nil for every call.
  public var function: String?

  /// A state.
  public init(
    name: String, limit: Int64, remaining: Int64, resetsAt: Int64?, unit: String = "requests",
    function: String? = nil
  ) {
    self.name = name
    self.limit = limit
    self.remaining = remaining
    self.resetsAt = resetsAt
    self.unit = unit
    self.function = function
  }
}

/// The answer of `GET /attest/v1/quota` and `GET /functions/v1/quota`, which count against no quota.
public struct QuotaAnswer: Sendable, Equatable {
  /// The counts that are the device's own or its user's; those it shares with others are not told.
  public var quotas: [QuotaState]

  /// An answer.
  public init(quotas: [QuotaState]) { self.quotas = quotas }

  /// Reads a body; nil when it is no such answer.
  public init?(body: [UInt8]) {
    guard let elements = (try? JSONReader.read(body))?["quotas"]?.elements else { return nil }
    quotas = []
    for element in elements {
      guard let name = element["name"]?.string, let limit = element["limit"]?.integer,
        let remaining = element["remaining"]?.integer
      else { return nil }
      quotas.append(
        QuotaState(
          name: name, limit: limit, remaining: remaining, resetsAt: element["resets_at"]?.integer,
          unit: element["unit"]?.string ?? "requests", function: element["function"]?.string))
    }
  }

  /// The body.
  public var json: JSONValue {
    let quotas = quotas.map { state -> JSONValue in
      var members: [(String, JSONValue)] = [
        ("name", .string(state.name)), ("limit", .integer(state.limit)),
        ("remaining", .integer(state.remaining)), ("unit", .string(state.unit)),
      ]
      if let resetsAt = state.resetsAt { members.append(("resets_at", .integer(resetsAt))) }
      if let function = state.function { members.append(("function", .string(function))) }
      return .object(members)
    }
    return ["quotas": .array(quotas)]
  }
}
