import Admission
import BramleyAPI
import Cryptography
import Encodings
import Gateway
import HTTPMessages

/// What a route does for a request once it is admitted.
struct AdmittedWork: Sendable {
  let call: any PaidWork
  /// Makes the answer. Throws a ``Failure`` where there is none.
  let answer: @Sendable () async throws -> HTTPResponse
}

/// A stream that ends in good order although what it is of broke off.
protocol BreakableBody: HTTPBodyStream {
  var isBroken: Bool { get async }
}

/// Requests with an `Idempotency-Key` (RULES §5.8): done once, whoever leaves, and answered as often as they are asked
/// again.
///
/// Evidence is checked before anything here, and used up in any case. What is sent again with the same key goes to the
/// run that does it already, or gets the answer that it left.
struct Idempotency: Sendable {
  /// The field (draft-ietf-httpapi-idempotency-key-header).
  static let field = "idempotency-key"
  /// Says of an answer that it was made for an earlier request.
  static let replayed = "idempotency-replayed"
  /// Milliseconds that an answer is kept.
  static let life: Int64 = 600_000
  /// Milliseconds of a run's lease.
  static let lease: Int64 = 90_000
  /// How long a run goes on without anybody who waits for it.
  static let patience = Duration.seconds(60)

  /// nil where nothing is kept: then every request is a new one.
  let store: (any KeptAnswerStore)?
  let runs: AnswerRuns
  let gate: ProviderGate

  /// Answers a request of a caller by the work that `admit` admits, or by what an earlier one left.
  ///
  /// - Parameters:
  ///   - recover: the answer of a run that left none, from what it had made by then.
  ///   - admit: called once at most, where the request is a new one; throws a ``Failure``.
  func answer(
    _ request: HTTPRequest, _ caller: Caller, _ exchange: inout Exchange,
    recover: (_ run: [UInt8]) async throws -> HTTPResponse? = { _ in nil },
    admit: (inout Exchange) async throws -> AdmittedWork
  ) async throws -> HTTPResponse {
    guard let store, let key = try Self.key(of: request), let owner = try await owner(caller, store) else {
      let work = try await admit(&exchange)
      let response = try await work.answer()
      if response.status >= 400 { exchange.code = await work.call.code }
      return response
    }
    let claim = AnswerClaim(
      id: SHA256.hash(
        Self.joined([owner.name, Array(request.method.rawValue.utf8), Array(request.target.utf8), key])),
      bodyHash: SHA256.hash(caller.body), run: exchange.id, user: owner.user)
    let seal = AnswerSeal(claim, key: key, body: caller.body)
    let state = try await storage {
      try await store.claim(claim, lease: Self.lease, life: Self.life, now: gate.environment.now())
    }
    guard state == .claimed else {
      try await gate.refuse(caller, &exchange)
      var response = try await repeated(state, claim, seal, store, &exchange, recover)
      response.fields[Self.replayed] = "true"
      return response
    }
    exchange.isRun = true
    let work: AdmittedWork
    do {
      work = try await admit(&exchange)
    } catch {
      await withdraw(claim, store)
      throw error
    }
    let relay = AnswerRelay(background: gate.environment.background)
    let reader = await relay.attach()
    await runs.begin(claim, relay)
    gate.environment.background { [self] in
      await AnswerRun(
        work: work, claim: claim, seal: seal, relay: relay, store: store, environment: gate.environment
      )
      .run(gate.admitter.log)
      await runs.end(claim)
    }
    guard let reader else { throw Failure.idempotencyIncomplete }
    return try await follow(relay, reader, &exchange)
  }

  /// The key of the request; nil without one. Throws a ``Failure`` for what is none: a key that others could have
  /// too would answer one request with another's answer.
  static func key(of request: HTTPRequest) throws(Failure) -> [UInt8]? {
    let values = request.fields.values(field)
    guard let value = values.first else { return nil }
    var octets = Array(value.utf8)
    if octets.count >= 2, octets.first == UInt8(ascii: "\""), octets.last == UInt8(ascii: "\"") {
      octets = Array(octets.dropFirst().dropLast())
    }
    guard values.count == 1, (16...255).contains(octets.count),
      octets.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
    else {
      throw .invalidRequest("\(field) is 16 to 255 visible characters that nobody else uses, such as a UUID.")
    }
    return octets
  }

  /// Whose request it is: the user's, else the key's; nil for one of nobody, which is never kept.
  private func owner(
    _ caller: Caller, _ store: any KeptAnswerStore
  ) async throws -> (name: [UInt8], user: [UInt8]?)? {
    func user(_ id: String) -> (name: [UInt8], user: [UInt8]?) {
      (Array("user \(id)".utf8), UUID(id)?.octets)
    }
    if let id = caller.user?.id { return user(id) }
    switch caller.verified.evidence {
    case .none: return nil
    case .assertion(let keyID, _, _): return (Array("key ".utf8) + keyID, nil)
    case .debugToken(let hash): return (Array("debug token ".utf8) + hash, nil)
    case .session(let hash, _):
      let holder = try await storage {
        try await store.holder(ofSession: hash, now: gate.environment.now())
      }
      guard let holder else { return nil }
      return holder.userID.map(user) ?? (Array("key ".utf8) + holder.keyID, nil)
    }
  }

  /// Each part with its length before it, so that no two lists are the same octets.
  private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
    parts.reduce(into: Array("bramley-idempotency-v1".utf8)) { all, part in
      all += (0..<8).map { UInt8(truncatingIfNeeded: part.count >> (56 - 8 * $0)) } + part
    }
  }

  private func withdraw(_ claim: AnswerClaim, _ store: any KeptAnswerStore) async {
    do {
      try await store.withdraw(claim.id, run: claim.run)
    } catch {
      // The lease ends it: until then a repeat waits, and after it is told that it is incomplete.
      gate.admitter.log.error("answer_not_withdrawn", [("error", .string("\(error)"))])
    }
  }

  /// The answer to a request that was claimed before.
  private func repeated(
    _ first: AnswerState, _ claim: AnswerClaim, _ seal: AnswerSeal, _ store: any KeptAnswerStore,
    _ exchange: inout Exchange, _ recover: (_ run: [UInt8]) async throws -> HTTPResponse?
  ) async throws -> HTTPResponse {
    var state = first
    var looks = 0
    while true {
      switch state {
      case .kept(let sealed):
        guard let response = seal.open(sealed) else { throw Failure.idempotencyIncomplete }
        return response
      case .incomplete(let run):
        guard let response = try await recover(run) else { throw Failure.idempotencyIncomplete }
        return response
      case .mismatched: throw Failure.idempotencyMismatch
      case .free, .claimed:
        // The run took its claim back: its request was refused, or cost nothing.
        throw Failure(
          503, .unavailable, "The same request was refused just now; send it again.",
          fields: ["retry-after": "1"])
      case .running(let run):
        if let relay = await runs.relay(claim.id) {
          guard let reader = await relay.attach() else {
            guard let response = try await recover(run) else { throw Failure.idempotencyIncomplete }
            return response
          }
          return try await follow(relay, reader, &exchange)
        }
        // Another node runs it, or did when it died: what it has made by now is its answer.
        if let response = try await recover(run) { return response }
        guard looks < 240 else {
          throw Failure(
            503, .unavailable, "The same request runs still; send it again later.",
            fields: ["retry-after": "10"])
        }
        looks += 1
        try await gate.environment.sleep(.milliseconds(250))
        state = try await storage { try await store.state(claim.id, now: gate.environment.now()) }
      }
    }
  }

  /// The answer as the relay has it, from its beginning.
  private func follow(
    _ relay: AnswerRelay, _ reader: Int, _ exchange: inout Exchange
  ) async throws -> HTTPResponse {
    let head: AnswerRelay.Head
    do {
      head = try await relay.begun()
    } catch {
      await relay.detach(reader)
      throw error
    }
    exchange.code = head.code
    let body = RelayedBody(relay, reader, gate.environment.background)
    return HTTPResponse(
      status: head.status, fields: head.fields, body: HTTPBody(stream: body, length: head.length))
  }
}

/// The content of an answer as one reader pulls it.
private final class RelayedBody: HTTPBodyStream {
  private let relay: AnswerRelay
  private let reader: Int
  private let background: @Sendable (@escaping @Sendable () async -> Void) -> Void

  init(
    _ relay: AnswerRelay, _ reader: Int,
    _ background: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void
  ) {
    self.relay = relay
    self.reader = reader
    self.background = background
  }

  deinit { cancel() }

  func next() async throws -> [UInt8]? { try await relay.next(reader) }

  func cancel() {
    let (relay, reader) = (relay, reader)
    background { await relay.detach(reader) }
  }
}

extension Failure {
  static let idempotencyIncomplete = Failure(
    422, .idempotencyIncomplete,
    "The first request with this Idempotency-Key began, and its answer was not kept whole. A new key asks anew.",
    fields: ["x-should-retry": "false"])
  static let idempotencyMismatch = Failure(
    422, .idempotencyMismatch, "This Idempotency-Key came with another body before. Take a new key.",
    fields: ["x-should-retry": "false"])
}
