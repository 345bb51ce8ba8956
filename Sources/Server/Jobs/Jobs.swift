import Admission
import AppAttest
import Encodings
import Gateway

/// What keeps the database tidy while requests run.
struct Jobs: Sendable {
  let environment: Environment
  let challenges: ChallengeKeys
  let live: LiveReservations
  let owed: OwedSettlements
  let runs: AnswerRuns
  let metrics: Metrics
  let log: ApplicationLog

  var all: [Job] {
    [
      job("renew_leases", every: 60, on: .everyNode) { [self] in
        _ = await renew()
      },
      job("settle_owed", every: 3, on: .everyNode) { [self] in
        let taken = await owed.pay()
        if taken > 0 { log.info("settlements_caught_up", [("count", .integer(taken))]) }
      },
      job("tell_alarms", every: 5, on: .everyNode) { [self] in await tellAlarms() },
      job("sweep_reservations", every: 60) { [self] in
        _ = await owed.pay()
        // First its own: a clock that stepped forward, or a machine that slept, ended every lease at once.
        guard await renew() == 0 else { return }
        let swept = try await environment.ledger.sweep(now: environment.now())
        guard swept > 0 else { return }
        metrics.swept.add(swept)
        log.info("reservations_swept", [("count", .integer(swept))])
      },
      job("renew_runs", every: 20, on: .everyNode) { [self] in
        guard let answers = environment.answers else { return }
        let failed = await runs.renew(answers, now: environment.now())
        if failed > 0 { log.error("runs_not_renewed", [("count", .integer(failed))]) }
      },
      job("forget_answers", every: 60) { [self] in
        _ = try await environment.answers?.sweep(now: environment.now())
      },
      job("sweep_challenges", every: 300) { [self] in
        try await environment.keys.sweepChallenges(now: environment.now() / 1000)
      },
      job("forget_usage", every: 3_600) { [self] in try await forgetUsage() },
      // Challenges live for five minutes, and the previous secret is honoured: a day is ample.
      job("rotate_challenge_secret", every: 86_400) { [self] in try await challenges.rotate() },
    ]
  }

  private func job(
    _ name: String, every seconds: Int64, on nodes: Job.Nodes = .oneNode,
    _ run: @escaping @Sendable () async throws -> Void
  ) -> Job {
    .reporting(name, every: seconds, on: nodes, log: log, metrics: metrics, run)
  }

  /// In pieces, so that no request waits for long, and no more than a run's worth.
  private func forgetUsage() async throws {
    let age = environment.configuration.usageRetentionDays * 86_400_000
    let piece = 500
    var forgotten = 0
    for _ in 0..<400 {
      try Task.checkCancellation()
      let count = try await environment.ledger.forgetUsage(
        olderThan: age, atMost: piece, now: environment.now())
      forgotten += count
      if count < piece { break }
    }
    if forgotten > 0 { log.info("usage_forgotten", [("count", .integer(forgotten))]) }
  }

  /// Tells the operator of limits that are used up. The app's backend is told by an event.
  private func tellAlarms() async {
    for alarm in await environment.ledger.takeAlarms() {
      metrics.alarms[Metrics.Alarm.limit].add()
      log.error(
        "limit_reached",
        [
          ("rule", .string(alarm.rule)), ("subject", .string(alarm.subject.told)),
          ("percent", .integer(alarm.share)), ("unit", .string(alarm.unit.rawValue)),
          ("limit", .integer(alarm.limit)), ("used", .integer(alarm.used)),
        ]
          + (alarm.end == .max
            ? [] : [("until", .string(CivilTime(secondsSince1970: alarm.end / 1_000).rfc3339))])
      )
    }
  }

  /// Renews the leases of this process's calls; how many could not be.
  private func renew() async -> Int {
    let failed = await live.renew(
      at: LiveReservations.Instant(wall: environment.now(), uptime: environment.uptime()))
    if failed > 0 { log.error("leases_not_renewed", [("count", .integer(failed))]) }
    return failed
  }
}

extension LineSubject {
  /// As the log names it.
  fileprivate var told: String {
    switch self {
    case .device(let id): "key \(id)"
    case .named(.user, let name): "user \(name)"
    case .named(.app, let name): "app \(name)"
    case .named(.address, let name): "address \(name)"
    case .named(.debugToken, let name): "debug token \(name)"
    case .named(.person, _): "person"
    case .named(.everyone, _): "everyone"
    }
  }
}

extension Job {
  /// A job whose errors are logged and counted.
  static func reporting(
    _ name: String, every seconds: Int64, on nodes: Job.Nodes = .oneNode,
    log: ApplicationLog, metrics: Metrics, _ run: @escaping @Sendable () async throws -> Void
  ) -> Job {
    Job(name: name, interval: seconds, nodes: nodes) {
      do {
        try await run()
        return .done
      } catch is CancellationError {
        return .failed("cancelled")
      } catch {
        metrics.alarms[Metrics.Alarm.storage].add()
        log.error("job_failed", [("job", .string(name)), ("error", .string("\(error)"))])
        return .failed("\(error)")
      }
    }
  }
}
