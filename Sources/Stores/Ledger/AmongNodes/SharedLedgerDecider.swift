import Admission
import SQL

/// Decides the ledger's jobs a batch at a time on a PostgreSQL that other nodes write to as well: rows are locked
/// in one order (users who become a key's, devices, challenges, reservations, then lines), decided by the one rule, and
/// written with the commit.
final class SharedLedgerDecider: SharedBatchDecider {
  private let clock: LeaseClock
  private let names = SharedNames()
  private let memory = LastSeen()
  /// Reservations that the batch which was decided last made and ended. Not its rows: they hold its connection, which
  /// would keep its locks at the server although the lane has given it up.
  private var made: [[UInt8]] = []
  private var taken: [[UInt8]] = []
  /// What the attempts at the batch lacked.
  private var needs = BatchNeeds()
  /// How often a batch comes again for users whom somebody else holds, before their requests alone are refused; it
  /// leaves attempts of the lane for the rest.
  private static let patience = 4

  init(_ clock: LeaseClock) { self.clock = clock }

  func decide(
    _ jobs: [LedgerJob], in transaction: Transaction, attempt: Int
  ) async throws -> [LedgerAnswer] {
    // A batch that was given up leaves its own: nothing of it may be locked or made for other jobs.
    if attempt == 1 { needs = BatchNeeds() }
    (made, taken) = ([], [])
    names.forgetUnconfirmed()
    let book = SharedLedgerBook(
      transaction, names, clock, needs, waitsForUsers: needs.waits < Self.patience)
    var answers: [LedgerAnswer] = []
    do {
      try await book.load(jobs, from: needs.isAlone || needs.isWithoutGuess ? nil : memory)
      // Between two jobs the loop may see to others: rows and names are this lane's alone, and it begins no other
      // batch before this one has ended.
      for job in jobs {
        await transaction.breathe()
        answers.append(try job.answer(in: book))
      }
      // What was lacking had something stand in for it, so that all of it is found at once.
      guard book.lacking.isEmpty else { throw Lacking() }
    } catch is Lacking {
      // The lane rolls back and comes again, after a pause where nothing new was found out.
      if needs.add(book.lacking) { throw BeginAnew() }
      throw DatabaseError.conflict
    }
    memory.note(book)
    try book.flush()
    (made, taken) = (Array(book.made.keys), book.taken)
    return answers
  }

  /// Reservations tell (RULES §5.5). The lock, held alone, waits for the transaction whose connection broke.
  func wasCommitted(
    _ jobs: [LedgerJob], _ answers: [LedgerAnswer], in transaction: Transaction
  ) async throws -> Bool? {
    guard !made.isEmpty || !taken.isEmpty else { return nil }
    try await transaction.execute(LedgerLock.exclusive.sql, LedgerLock.exclusive.values)
    func found(_ ids: [[UInt8]]) async throws -> Bool {
      try await transaction.first("select 1 from reservations where id = any($1)", [.blobs(ids)]) { _ in true
      }
        ?? false
    }
    return try await made.isEmpty ? !found(taken) : found(made)
  }
}
