package import Encodings
package import HTTPMessages

/// Where a call in fal's queue is.
package enum FalState: Sendable, Equatable {
  /// Nobody works on it yet.
  case queued(position: Int64)
  case running
  /// `failed`: fal says that it ended in an error.
  case completed(failed: Bool)
}

/// What is done with a call in fal's queue.
package enum FalStep: Sendable {
  case status, result, cancel

  var method: HTTPMethod { self == .cancel ? .put : .get }

  package var suffix: String {
    switch self {
    case .status: "/status"
    case .result: ""
    case .cancel: "/cancel"
    }
  }
}

/// fal's queue: its requests and answers as values. What an app is told holds the gateway's own name of the call and
/// own URLs, never fal's.
package enum FalQueue {
  /// The path of a call, at fal and, under another id, at the gateway.
  package static func path(model: String, id: String, _ step: FalStep) -> String {
    "/\(FalApp.queueName(of: model))/requests/\(id)\(step.suffix)"
  }

  /// The request to fal, without the credential.
  package static func call(_ queued: QueuedCall, _ step: FalStep) -> PreparedCall {
    PreparedCall(
      method: step.method, path: path(model: queued.model, id: queued.upstreamID, step),
      fields: ["accept": "application/json", "accept-encoding": "identity", "user-agent": "bramley"],
      body: [],
      changed: false, model: queued.model, price: nil, inputBound: 0, outputBound: 0, reserve: 0,
      streamed: false, visibleOnly: false, cache: .none)
  }

  /// fal's name for the call that it took, and its place in the queue; nil for what is no such receipt. The URLs
  /// beside it are not looked at.
  package static func receipt(_ body: [UInt8]) -> (id: String, position: Int64)? {
    guard let root = try? JSONReader.read(body), let id = root["request_id"]?.string,
      (1...64).contains(id.utf8.count),
      id.utf8.allSatisfy({
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
          || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      })
    else { return nil }
    return (id, max(0, root["queue_position"]?.integer ?? 0))
  }

  /// Where the call is; nil for what is no such answer.
  package static func state(_ body: [UInt8]) -> FalState? {
    guard let root = try? JSONReader.read(body) else { return nil }
    switch root["status"]?.string {
    case "IN_QUEUE": return .queued(position: max(0, root["queue_position"]?.integer ?? 0))
    case "IN_PROGRESS": return .running
    case "COMPLETED":
      let errors = [root["error"], root["error_type"]].compactMap(\.self).filter { !$0.isNull }
      return .completed(failed: !errors.isEmpty)
    default: return nil
    }
  }

  /// What an app is told of its call. Logs stay behind: they are a runner's own.
  ///
  /// - Parameters:
  ///   - base: the URL below which the gateway has the queue, without a slash at its end.
  ///   - id: the gateway's name of the call.
  package static func answer(_ state: FalState, model: String, id: String, base: String) -> JSONValue {
    var members: [(String, JSONValue)] = []
    switch state {
    case .queued(let position): members = [("status", "IN_QUEUE"), ("queue_position", .integer(position))]
    case .running: members = [("status", "IN_PROGRESS")]
    case .completed(let failed):
      members = [("status", "COMPLETED"), ("metrics", [:])]
      if failed { members.append(("error", "The AI provider failed.")) }
    }
    members.append(("request_id", .string(id)))
    members.append(("logs", []))
    for (name, step) in [
      ("response_url", FalStep.result), ("status_url", .status), ("cancel_url", .cancel),
    ] {
      members.append((name, .string(base + path(model: model, id: id, step))))
    }
    return .object(members)
  }

  /// What the end of a call means.
  package enum Verdict: Sendable, Equatable {
    case settle(CallSettlement)
    /// Nothing is known yet.
    case later
  }

  /// What the answer with the result of a completed call means.
  ///
  /// - Parameter failed: the call ended in an error: fal said so, or has given the same answer for a while. Before
  ///   that an error may be the queue's own, which passes.
  package static func verdict(
    on call: QueuedCall, failed: Bool, status: Int, fields: HTTPFields, body: [UInt8]
  ) -> Verdict {
    let root = try? JSONReader.read(body)
    let images = root?["images"]?.elements.map { Int64($0.count) }
    if let units = FalUnit.billed(fields), (200..<300).contains(status) || status == 422 {
      return .settle(call.settlement(microUnits: units, images: images, estimated: false))
    }
    switch status {
    case 200..<300:
      guard let unit = FalUnit(rawValue: call.unit.unit), let counted = root.flatMap({ unit.counted(in: $0) })
      else { return .settle(call.atReserve) }
      return .settle(
        call.settlement(microUnits: counted, images: images, estimated: unit == .megapixel))
    case 500...:
      return failed ? .settle(CallSettlement(outcome: .released(giveBackCount: true))) : .later
    case 400, 413, 415:
      return failed ? .settle(CallSettlement(outcome: .released(giveBackCount: false))) : .later
    case 300..<400, 401, 402, 403, 408, 409, 425, 429: return .later
    default: return .settle(call.atReserve)
    }
  }
}
