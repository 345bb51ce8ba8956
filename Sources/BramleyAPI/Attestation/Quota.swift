public import Encodings

/// Where a device stands under one of its quotas.
public struct QuotaState: Sendable, Equatable {
  /// The limit's name in the server's configuration, such as `daily`.
  public var name: String
  /// Requests in the window.
  public var limit: Int64
  /// Requests that are left.
  public var remaining: Int64
  /// When the window ends, seconds since 1970.
  public var resetsAt: Int64

  /// A state.
  public init(name: String, limit: Int64, remaining: Int64, resetsAt: Int64) {
    self.name = name
    self.limit = limit
    self.remaining = remaining
    self.resetsAt = resetsAt
  }
}

/// The answer of `GET /attest/v1/quota`, which is asked with an assertion and counts against no quota.
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
        let remaining = element["remaining"]?.integer, let resetsAt = element["resets_at"]?.integer
      else { return nil }
      quotas.append(QuotaState(name: name, limit: limit, remaining: remaining, resetsAt: resetsAt))
    }
  }

  /// The body.
  public var json: JSONValue {
    let quotas = quotas.map { state -> JSONValue in
      [
        "name": .string(state.name), "limit": .integer(state.limit), "remaining": .integer(state.remaining),
        "resets_at": .integer(state.resetsAt),
      ]
    }
    return ["quotas": .array(quotas)]
  }
}
