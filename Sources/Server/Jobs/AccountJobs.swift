import Accounts
import Encodings

/// What keeps accounts in order while requests run.
struct AccountJobs: Sendable {
  let service: AccountService

  var all: [Job] {
    let service = service
    var jobs = [
      job("rotate_signing_key", every: 3_600) {
        let now = service.environment.now()
        guard let kid = try await service.keys.rotate(now: now) else { return }
        service.log.info("signing_key_made", [("kid", .string(kid))])
      },
      job("sweep_accounts", every: 300) {
        try await service.ports.appleTokens.sweep(now: service.environment.now())
      },
    ]
    jobs.append(job("forget_audit", every: 3_600) { try await forgetAudit() })
    let deletion = service.deletion
    // Also what a process left that ended between two steps.
    jobs.append(job("resume_deletions", every: 15) { try await deletion.resume() })
    jobs.append(job("forget_deletions", every: 86_400) { try await deletion.forget() })
    if let notifications = service.notifications {
      // Also what a process left that ended between keeping and applying.
      jobs.append(job("apply_apple_events", every: 60) { try await notifications.applyPending() })
      jobs.append(job("forget_apple_events", every: 86_400) { try await notifications.forget() })
    }
    if let exchange = service.apple?.exchange, exchange.key != nil {
      jobs.append(job("check_apple_tokens", every: 900) { try await exchange.checkDue() })
    }
    if let days = service.auth.anonymousIdleDays {
      jobs.append(job("remove_idle_users", every: 3_600) { try await removeIdle(days) })
    }
    return jobs
  }

  /// In pieces, so that nobody waits for long.
  private func forgetAudit() async throws {
    let age = service.environment.configuration.auditRetentionDays * 86_400_000
    let piece: Int64 = 500
    var forgotten = 0
    for _ in 0..<400 {
      try Task.checkCancellation()
      let count = try await service.ports.audit.forgetAudit(
        before: service.environment.now() - age, limit: piece)
      forgotten += count
      if count < piece { break }
    }
    if forgotten > 0 { service.log.info("audit_forgotten", [("count", .integer(Int64(forgotten)))]) }
  }

  /// In pieces, and no more than a thousand users an hour: a clock that is set ahead takes few with it before
  /// somebody notices.
  private func removeIdle(_ days: Int64) async throws {
    let now = service.environment.now()
    let piece: Int64 = 100
    let cutoff = now - days * 86_400_000
    var (removed, after) = (0, UUID?.none)
    for _ in 0..<10 {
      let idle = try await service.ports.users.idle(since: cutoff, after: after, limit: piece)
      for user in idle {
        try Task.checkCancellation()
        // One whom a table of the app's keeps, or of whom something was seen meanwhile, holds up no other.
        if case .success(.going) = try await service.deletion.startIdle(user: user, since: cutoff) {
          removed += 1
        }
      }
      guard idle.count == piece, let last = idle.last else { break }
      after = last
    }
    if removed > 0 { service.log.info("idle_users_removed", [("count", .integer(Int64(removed)))]) }
  }

  private func job(
    _ name: String, every seconds: Int64, _ run: @escaping @Sendable () async throws -> Void
  ) -> Job {
    .reporting(name, every: seconds, log: service.log, metrics: service.metrics, run)
  }
}
