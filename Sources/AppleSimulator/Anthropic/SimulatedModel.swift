import Encodings

/// A model that the simulated Anthropic serves.
public struct SimulatedModel: Sendable, Equatable {
  /// The id that requests name.
  public let id: String
  /// The name for people.
  public let displayName: String
  /// The most `max_tokens` that it takes.
  public let maximumOutput: Int

  /// A model.
  public init(id: String, displayName: String, maximumOutput: Int) {
    self.id = id
    self.displayName = displayName
    self.maximumOutput = maximumOutput
  }

  /// The models of autumn 2026.
  public static let all = [
    SimulatedModel(id: "claude-opus-5-5", displayName: "Claude Opus 5.5", maximumOutput: 128_000),
    SimulatedModel(id: "claude-opus-5", displayName: "Claude Opus 5", maximumOutput: 128_000),
    SimulatedModel(id: "claude-sonnet-5-5", displayName: "Claude Sonnet 5.5", maximumOutput: 128_000),
    SimulatedModel(id: "claude-sonnet-5", displayName: "Claude Sonnet 5", maximumOutput: 64_000),
    SimulatedModel(id: "claude-haiku-5-5", displayName: "Claude Haiku 5.5", maximumOutput: 128_000),
    SimulatedModel(id: "claude-haiku-4-5", displayName: "Claude Haiku 4.5", maximumOutput: 64_000),
  ]

  /// An entry of `GET /v1/models`.
  var description: JSONValue {
    [
      "type": "model", "id": .string(id), "display_name": .string(displayName),
      "created_at": "2026-01-01T00:00:00Z",
    ]
  }

  /// The answer of `GET /v1/models`, in one page.
  static func list(_ models: [SimulatedModel]) -> JSONValue {
    [
      "data": .array(models.map(\.description)), "has_more": false,
      "first_id": models.first.map { .string($0.id) } ?? .null,
      "last_id": models.last.map { .string($0.id) } ?? .null,
    ]
  }
}
