import BramleyAPI
import Encodings
import Gateway
import HTTPMessages
import UserData

/// Keeps what a function made as objects of the user who asked.
///
/// It is kept before it is booked, and whoever asks gets it in any case: where it cannot be kept, the answer holds what
/// was made and says in `not_stored` why, since it was paid for.
struct ObjectKeeper: Sendable {
  /// One call of the function.
  struct Making: Sendable {
    /// The request's id, 16 octets.
    let id: [UInt8]
    let owner: UUID
    /// By what a repeat finds it: the run, which is this request alone. A key that is used again once its answer is
    /// forgotten is another run, and finds nothing of the first.
    let origin: [UInt8]?
  }

  private let function: FunctionDefinition
  private let store: any ObjectStore
  private let contents: ObjectContents
  private let settings: Configuration.Storage
  private let gate: ProviderGate

  /// nil where no objects are kept.
  init?(_ function: FunctionDefinition, _ gate: ProviderGate) {
    guard let store = gate.environment.objects else { return nil }
    let configuration = gate.environment.configuration
    self.function = function
    self.store = store
    self.gate = gate
    settings = configuration.storage
    contents = ObjectContents(
      function, limit: Int(settings.bytesPerResult),
      files: configuration.fal.map { FalFiles($0, network: gate.environment.outside.files) },
      sleep: gate.environment.sleep)
  }

  /// Throws a ``Failure`` unless the largest result has room: before it is paid for.
  func requireRoom(of owner: UUID) async throws {
    let standing = try await storage { try await store.standing(of: owner) }
    if let refusal = standing.refusal(
      count: contents.count, bytes: settings.bytesPerResult, settings.limits)
    {
      throw Failure.objects(refusal)
    }
  }

  /// The app's answer to the provider's. Throws a ``Failure`` where that breaks off. What came whole is kept and
  /// booked also when the app left.
  func answer(
    _ answer: FunctionResponse, to response: HTTPResponse, of call: ProviderCall, for making: Making
  ) async throws -> HTTPResponse {
    do {
      let whole = try await answer.whole(response.body.pulled)
      let json = await gate.environment.toTheEnd {
        let json = await kept(whole.answer, whole.json, making, noting: await call.spendingNote)
        await call.settleHeld()
        return json
      }
      return .json(json)
    } catch {
      await call.settleHeld()
      throw error
    }
  }

  /// The answer that a run made and could not give; nil where it kept nothing.
  func recovered(run: [UInt8], of owner: UUID) async throws -> HTTPResponse? {
    let objects = try await storage { try await store.objects(of: owner, origin: run) }
    return objects.isEmpty ? nil : .json(Self.answer(objects))
  }

  private func kept(
    _ answer: FunctionAnswer, _ json: JSONValue, _ making: Making, noting note: SpendingNote?
  ) async -> JSONValue {
    do {
      let drafts = try self.drafts(of: try await contents.files(of: answer), making)
      let refusal = try await contents.retrying {
        try await store.put(drafts, within: settings.limits, noting: note)
      }
      if let refusal { return Self.unkept(json, .objects(refusal)) }
      return Self.answer(drafts.map(\.object))
    } catch let reason as ObjectContents.Unfit {
      return Self.unkept(json, reason.failure)
    } catch {
      gate.admitter.metrics.alarms[Metrics.Alarm.storage].add()
      gate.admitter.log.error(
        "object_not_stored",
        [
          ("request_id", .string(Hex.encode(making.id))), ("function", .string(function.name)),
          ("error", .string("\(error)")),
        ])
      return Self.unkept(
        json, Failure(503, .objectNotStored, "What was made could not be stored: keep it in the app."))
    }
  }

  private func drafts(of files: [ObjectContents.File], _ making: Making) throws -> [ObjectDraft] {
    let now = gate.environment.now()
    return try files.enumerated().map { number, file in
      var octets = making.id
      // No result has as many files as an octet has values.
      if let last = octets.popLast() { octets.append(last ^ UInt8(truncatingIfNeeded: number)) }
      guard let id = UUID(octets: octets),
        let path = ObjectPath("\(function.name)/\(Hex.encode(octets)).\(file.type.suffix)")
      else { throw ObjectContents.Unfit.unreadable }
      return ObjectDraft(
        StoredObject(
          id: id, user: making.owner, bucket: StorageTargets.functionBucket, path: path,
          contentType: file.type, size: 0, origin: making.origin, createdAt: now), content: file.bytes)
    }
  }

  private static func answer(_ objects: [StoredObject]) -> JSONValue {
    let places = objects.map { object -> JSONValue in
      [
        "bucket": .string(object.bucket), "path": .string(object.path.description),
        "content_type": .string(object.contentType.rawValue), "bytes": .integer(object.size),
      ]
    }
    return ["objects": .array(places), "stop": .string(FunctionStop.end.rawValue)]
  }

  /// What was made itself, and why it was not kept.
  private static func unkept(_ json: JSONValue, _ failure: Failure) -> JSONValue {
    guard case .object(let members) = json else { return json }
    let reason: JSONValue = ["code": .string(failure.code.rawValue), "message": .string(failure.message)]
    return .object(members + [("not_stored", reason)])
  }
}

extension Failure {
  static func objects(_ refusal: ObjectRefusal) -> Failure {
    switch refusal {
    case .count(let limit):
      Failure(
        422, .objectLimitReached, "The user keeps \(limit) objects at most: remove some first.",
        fields: ["x-should-retry": "false"])
    case .bytes(let limit):
      Failure(
        422, .objectLimitReached,
        "The user keeps \(limit) octets at most, and the result has no room: remove some objects first.",
        fields: ["x-should-retry": "false"])
    case .userGone: .deletionInProgress
    case .taken: Failure(503, .objectNotStored, "What was made could not be stored: keep it in the app.")
    }
  }
}
