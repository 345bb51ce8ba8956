import Admission
import AppAttest
import SQL

/// Decides the ledger's jobs a batch at a time, on the writer's thread.
final class LedgerDecider: BatchDecider {
  private let book = LedgerBook()

  func decide(
    _ jobs: [LedgerJob], in transaction: SQLiteTransaction, othersWrote: Bool
  ) throws -> [LedgerAnswer] {
    try book.open(transaction, forgetting: othersWrote)
    var answers: [LedgerAnswer] = []
    answers.reserveCapacity(jobs.count)
    for job in jobs { answers.append(try job.answer(in: book)) }
    try book.flush()
    return answers
  }
}
