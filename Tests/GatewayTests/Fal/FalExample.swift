import Gateway
import HTTPMessages

/// fal and its requests, as the tests of this folder share them.
enum FalExample {
  static let model = "fal-ai/flux/schnell"
  /// Pico-dollars a unit.
  static let price: Int64 = 3_000_000_000

  static func fal(
    unit: FalUnit = .image, way: Fal.Way = .direct, _ change: (inout FalApp) -> Void = { _ in }
  ) -> Fal {
    var app = FalApp(id: model, maximumImages: 4, maximumSteps: 12)
    change(&app)
    return Fal(
      apps: [app],
      prices: PriceTable([
        PriceRow(
          provider: "fal", model: model, unit: UnitPrice(unit: unit.rawValue, price: price), source: "test")
      ]), way: way)
  }

  static func request(
    _ body: String, path: String = "/run/\(model)", query: String? = nil, method: HTTPMethod = .post,
    fields: HTTPFields = [:]
  ) -> ProviderRequest {
    var all: HTTPFields = ["content-type": "application/json"]
    for line in fields.lines { all[line.name] = line.value }
    return ProviderRequest(
      method: method, path: path, query: query, fields: all, body: Array(body.utf8), pseudonym: "p",
      now: 1_800_000_000)
  }

  static func prepare(
    _ body: String, unit: FalUnit = .image, way: Fal.Way = .direct,
    _ change: (inout FalApp) -> Void = { _ in }
  ) throws(ProviderRefusal) -> PreparedCall {
    try fal(unit: unit, way: way, change).prepare(
      request(body, path: "/\(way == .direct ? "run" : "queue")/\(model)"))
  }

  static func refusal(
    _ body: String, way: Fal.Way = .direct, _ change: (inout FalApp) -> Void = { _ in }
  ) -> ProviderRefusal? {
    do throws(ProviderRefusal) {
      _ = try prepare(body, way: way, change)
      return nil
    } catch {
      return error
    }
  }

  static func text(_ call: PreparedCall) -> String { String(decoding: call.body, as: UTF8.self) }

  static func queued(
    unit: FalUnit = .image, bound: Int64 = 2_000_000, reserve: Int64 = 6_000_000_000,
    userID: String? = "user"
  ) -> QueuedCall {
    QueuedCall(
      id: Array(repeating: 1, count: 16), reservation: Array(repeating: 2, count: 16), provider: "fal",
      model: model, route: "/ai/fal/queue/\(model)", upstreamID: "up-1", owner: [7], userID: userID,
      unit: UnitPrice(unit: unit.rawValue, price: price), microUnitBound: bound, imageBound: 2,
      reserve: reserve,
      submittedAt: 1_800_000_000_000)
  }
}
