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
    if let exchange = service.apple?.exchange, exchange.key != nil {
      jobs.append(job("check_apple_tokens", every: 900) { try await exchange.checkDue() })
    }
    return jobs
  }

  private func job(
    _ name: String, every seconds: Int64, _ run: @escaping @Sendable () async throws -> Void
  ) -> Job {
    .reporting(name, every: seconds, log: service.log, metrics: service.metrics, run)
  }
}
