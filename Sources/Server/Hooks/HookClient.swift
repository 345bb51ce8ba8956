import BramleyAPI
import Encodings
import HTTPMessages

/// Asks one hook: a signed call in Supabase's shape. It fails closed: whatever is no clear answer is an error.
struct HookClient: Sendable {
  /// As the configuration spells it.
  let name: String
  private let target: WebhookTarget
  private let network: OutsideClient
  private let environment: Environment
  private let metrics: Metrics
  private let log: ApplicationLog

  /// Octets of an answer.
  static let answerLimit = 64 * 1024

  /// What the hook said no with.
  struct Refusal: Error, Equatable {
    /// 400 to 499.
    var status: Int
    var message: String
  }

  init(
    _ name: String, _ target: WebhookTarget, _ environment: Environment, metrics: Metrics,
    log: ApplicationLog
  ) {
    self.name = name
    self.target = target
    self.environment = environment
    self.metrics = metrics
    self.log = log
    network = OutsideClient(
      environment.outside.hooks,
      OutsidePolicy(
        hosts: [target.host], maximumSize: Self.answerLimit,
        allowsLoopback: environment.configuration.deployment == .development))
  }

  /// The answer, an object; an empty one where the hook has nothing to say. Throws ``Refusal``, or a ``Failure`` where
  /// there is no answer.
  func ask(_ payload: JSONValue, id: UUID) async throws -> JSONNode {
    let request = target.request(
      id: id.description, time: environment.now() / 1_000, body: payload.bytes)
    let (status, isJSON, body): (Int, Bool, [UInt8])
    do {
      let response = try await network.respond(to: request)
      body = try await response.body.collect(upTo: Self.answerLimit)
      status = response.status
      isJSON = Self.isJSON(response.fields["content-type"])
    } catch {
      try Task.checkCancellation()
      throw failure(OutsideFailure.words(error))
    }
    let isGood = 200..<300 ~= status
    let isSilent = isGood && body.isEmpty
    guard isGood || 400..<500 ~= status, isJSON || isSilent,
      let node = try? JSONReader.read(isSilent ? Array("{}".utf8) : body), node.members != nil
    else { throw failure(isGood ? "answer unreadable" : "HTTP \(status)") }
    if let error = node["error"], !error.isNull {
      // Also beside 4xx, where Supabase Auth forgets what the hook said.
      throw Refusal(
        status: error["http_code"]?.integer.flatMap { 400..<500 ~= $0 ? Int($0) : nil } ?? 403,
        message: Self.short(error["message"]?.string ?? "Refused by a hook"))
    }
    guard isGood else { throw failure("HTTP \(status)") }
    return node
  }

  /// The error of a hook that gave no answer; it alarms the operator.
  func failure(_ words: String) -> Failure {
    metrics.alarms[Metrics.Alarm.hooks].add()
    log.error(
      "hook_failed",
      [("hook", .string(name)), ("host", .string(target.host)), ("outcome", .string(words))])
    return Failure(
      503, words == "timed out" ? .hookTimeout : .hookFailed, "The server could not complete the request",
      fields: ["retry-after": "5"], diagnosis: "hook \(name): \(words)")
  }

  private static func isJSON(_ type: String?) -> Bool {
    let essence = (type ?? "").prefix { $0 != ";" }.lowercased()
    return essence.split(separator: " ").joined() == "application/json"
  }

  /// For a person who signs up: without control characters, and not endless.
  private static func short(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.lazy.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(500)))
  }
}
