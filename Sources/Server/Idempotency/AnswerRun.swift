import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// One run of a request with an `Idempotency-Key`, which goes on when whoever asked is gone.
struct AnswerRun: Sendable {
  let work: AdmittedWork
  let claim: AnswerClaim
  let seal: AnswerSeal
  let relay: AnswerRelay
  let store: any KeptAnswerStore
  let environment: Environment

  /// Makes the answer, tells it to all who wait, and keeps it.
  func run(_ log: ApplicationLog) async {
    let isWhole = await withTaskGroup(of: Bool?.self) { group in
      group.addTask { await pass() }
      group.addTask {
        await relay.abandoned { try await environment.sleep(Idempotency.patience) }
        return nil
      }
      // Whoever comes first ends the other: an answer that is there needs no patience, and one that nobody waits for
      // is given up.
      var isWhole = false
      var left = 2
      while left > 0, let result = await group.next() {
        left -= 1
        if let result { isWhole = result }
        group.cancelAll()
      }
      return isWhole
    }
    await keep(isWhole: isWhole, log)
  }

  /// Passes the answer on; whether all of it came.
  private func pass() async -> Bool {
    do {
      let response = try await work.answer()
      let code = response.status >= 400 ? await work.call.code : nil
      await relay.begin(
        AnswerRelay.Head(
          status: response.status, fields: response.fields, length: response.body.length, code: code))
      let stream = response.body.pulled
      while let chunk = try await stream.next() {
        guard await relay.add(chunk) else {
          stream.cancel()
          await relay.finish(HTTPBodyError.incomplete)
          return false
        }
      }
      let isBroken = await (stream as? any BreakableBody)?.isBroken ?? false
      await relay.finish()
      return response.status < 400 && !isBroken
    } catch {
      await relay.finish(error is CancellationError ? HTTPBodyError.incomplete : error)
      return false
    }
  }

  /// Leaves the answer for those who ask again. Where the call cost nothing, asking again is a new request.
  private func keep(isWhole: Bool, _ log: ApplicationLog) async {
    do {
      let remainder = await work.call.remainder
      if remainder == .nothing { return try await store.withdraw(claim.id, run: claim.run) }
      var sealed: [UInt8]?
      if isWhole, remainder == .answer, let content = await relay.content,
        let head = try? await relay.begun()
      {
        sealed = seal.close(head, content)
      }
      _ = try await store.finish(
        claim.id, run: claim.run, sealed: sealed, life: Idempotency.life, now: environment.now())
    } catch {
      log.error("answer_not_kept", [("error", .string("\(error)"))])
    }
  }
}

/// The runs of this process.
actor AnswerRuns {
  private var running: [[UInt8]: (claim: AnswerClaim, relay: AnswerRelay)] = [:]

  func begin(_ claim: AnswerClaim, _ relay: AnswerRelay) { running[claim.id] = (claim, relay) }

  func end(_ claim: AnswerClaim) {
    if running[claim.id]?.claim.run == claim.run { running[claim.id] = nil }
  }

  /// What this process has of the claim's answer.
  func relay(_ id: [UInt8]) -> AnswerRelay? { running[id]?.relay }

  /// Renews every run's lease; how many could not be.
  func renew(_ store: any KeptAnswerStore, now: Int64) async -> Int {
    var failed = 0
    for (claim, _) in running.values {
      do {
        _ = try await store.renew(
          claim.id, run: claim.run, lease: Idempotency.lease, life: Idempotency.life, now: now)
      } catch {
        failed += 1
      }
    }
    return failed
  }
}
