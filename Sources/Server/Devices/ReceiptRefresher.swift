import AppAttest
import Encodings
import HTTPMessages
import Synchronization

/// Exchanges the receipts whose time has come for newer ones, which bring the risk metric (RULES §1.10). It is one
/// node's at a time, by a job's lease, so that the pace is everyone's.
struct ReceiptRefresher: Sendable {
  /// Seconds that a run goes on for at most; the next one goes on where it ended.
  private static let longestRun: Int64 = 600
  /// To when a receipt that is asked about is put off, in case that nobody comes back: seconds.
  private static let retryAfter: Int64 = 120
  /// Answers in a row that say nothing, after which nobody is asked for a while.
  private static let patience = 3

  let apple: AppleDevices
  let exchange: ReceiptExchange
  let schedule: RefreshSchedule
  let settings: Configuration.Attest.Receipts
  let metrics: Metrics
  let log: ApplicationLog

  init(_ apple: AppleDevices, _ attest: Configuration.Attest, metrics: Metrics, log: ApplicationLog) {
    self.apple = apple
    self.metrics = metrics
    self.log = log
    settings = attest.receipts
    schedule = RefreshSchedule(interval: attest.receipts.refreshDays * 86_400)
    exchange = ReceiptExchange(
      services: apple.devices.services, verifier: ReceiptVerifier(anchors: attest.anchors.receipt))
  }

  private var environment: Environment { apple.environment }
  private var store: any ReceiptStore { apple.devices.store }
  /// So many at once that their pace takes ten seconds at most.
  private var batch: Int { Int(min(max(settings.perMinute / 6, 1), 16)) }
  private var gap: Duration { .milliseconds(60_000 / max(settings.perMinute, 1)) }

  /// Exchanges what is due, until none is, Apple wants a pause, or the run has been long enough.
  func run() async throws {
    let start = environment.uptime()
    let troubles = Troubles()
    while environment.uptime() - start < Self.longestRun * 1_000_000_000 {
      try Task.checkCancellation()
      let now = apple.now
      let due = try await store.due(
        ReceiptDemand(
          now: now, retryAt: now + Self.retryAfter, activeSince: now - settings.activeDays * 86_400,
          idleUntil: now + 86_400, limit: batch))
      if due.isEmpty { return }
      let pause = try await withThrowingTaskGroup(of: Int64?.self) { group in
        for (place, stored) in due.enumerated() {
          group.addTask { [self] in
            try await environment.sleep(gap * place)
            try Task.checkCancellation()
            return try await refresh(stored, troubles)
          }
        }
        // The others have not begun, or their answers do not matter any more: they are due again soon.
        while let pause = try await group.next() {
          if let pause {
            group.cancelAll()
            return Int64?.some(pause)
          }
        }
        return nil
      }
      if let pause {
        let now = apple.now
        return try await store.pause(until: now + pause, now: now)
      }
      try await environment.sleep(gap)
    }
  }

  /// One exchange; how many seconds nobody is to be asked after it, nil for none.
  private func refresh(_ stored: StoredReceipt, _ troubles: Troubles) async throws -> Int64? {
    do {
      guard
        let answer = try await apple.ask(
          upTo: ReceiptExchange.maximumLength, { exchange.request(stored, token: $0) })
      else { throw ReceiptRefusal.noAnswer }
      let (now, verifying) = (apple.now, exchange)
      let (status, fields, body) = (answer.response.status, answer.response.fields, answer.body)
      let fresh = try await environment.offload {
        Result { () throws(ReceiptRefusal) in
          try verifying.judge(stored, status: status, fields: fields, body: body, now: now)
        }
      }.get()
      troubles.end()
      let kept = try await store.keep(
        RefreshedReceipt(
          bytes: fresh.bytes, riskMetric: fresh.receipt.riskMetric.map { Int64($0) },
          nextRefresh: schedule.next(after: fresh.receipt, now: now, random: apple.random)),
        for: stored, now: now)
      metrics.receipts[kept ? "refreshed" : "replaced"].add()
      return nil
    } catch let refusal as ReceiptRefusal {
      return try await put(off: stored, refusal, troubles)
    }
  }

  private func put(
    off stored: StoredReceipt, _ refusal: ReceiptRefusal, _ troubles: Troubles
  ) async throws -> Int64? {
    metrics.receipts[refusal.name].add()
    let pause = pause(after: refusal, troubles)
    report(refusal, of: stored)
    let now = apple.now
    if refusal.isOfAll, let pause {
      // Not this receipt's failure: it is the first to be asked for afterwards.
      try await store.putOff(stored, to: now + pause, failures: stored.failures)
    } else {
      let next = schedule.next(
        after: refusal, of: stored.content, failures: stored.failures, now: now, random: apple.random)
      try await store.putOff(stored, to: next, failures: stored.failures + 1)
    }
    return pause
  }

  private func pause(after refusal: ReceiptRefusal, _ troubles: Troubles) -> Int64? {
    switch refusal {
    case .credentials: return 900
    case .tooMany(let seconds): return max(seconds ?? 60, 10)
    case .retryable, .noAnswer:
      guard troubles.add() >= Self.patience else { return nil }
      if case .retryable(_, let seconds?) = refusal { return max(seconds, 60) }
      return 60
    case .tooEarly, .otherEnvironment, .notTaken, .unknownKey, .invalid, .notNewer:
      troubles.end()
      return nil
    }
  }

  private func report(_ refusal: ReceiptRefusal, of stored: StoredReceipt) {
    let members: [(String, JSONValue)] = [
      ("key", .string(Hex.encode(stored.key.keyID.prefix(6)))), ("error", .string("\(refusal)")),
    ]
    switch refusal {
    case .credentials:
      metrics.alarms[Metrics.Alarm.appleConfiguration].add()
      log.error("apple_key_refused", [("error", .string("\(refusal)"))])
    // What Apple never does while all is well.
    case .otherEnvironment, .notTaken, .invalid, .notNewer: log.error("receipt_not_refreshed", members)
    case .tooMany, .retryable, .noAnswer: log.info("receipt_not_refreshed", members)
    case .tooEarly, .unknownKey: break
    }
  }
}

/// How many answers in a row said nothing.
private final class Troubles: Sendable {
  private let count = Atomic<Int>(0)

  func add() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }

  func end() { count.store(0, ordering: .relaxed) }
}
