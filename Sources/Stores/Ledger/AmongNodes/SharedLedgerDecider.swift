import Admission
import SQL

/// Decides the ledger's jobs a batch at a time on a PostgreSQL that other nodes write to as well: rows are locked
/// in one order (users who become a key's, devices, reservations, then lines), decided by the one rule, and written
/// with the commit.
final class SharedLedgerDecider: BatchDecider {
  private let clock: LeaseClock
  private let names = SharedNames()
  private let memory = LastSeen()
  /// False after an attempt that guessed wrongly.
  private var mayGuess = true
  private var book: SharedLedgerBook?
  /// The last attempt found that a period is to be made, which takes the lock alone.
  private var needsToBeAlone = false
  /// The last attempt found that these become keys' users.
  private var lockedUsers: Set<String> = []
  /// How often a batch comes again for users whom somebody else holds, before their requests alone are refused; it
  /// leaves attempts of the lane for the rest.
  private static let patience = 4
  private var waits = 0

  init(_ clock: LeaseClock) { self.clock = clock }

  func decide(
    _ jobs: [LedgerJob], in transaction: Transaction, othersWrote: Bool
  ) throws -> [LedgerAnswer] {
    names.forgetUnconfirmed()
    let book = SharedLedgerBook(
      transaction, names, clock, isAlone: needsToBeAlone, lockedUsers: lockedUsers,
      waitsForUsers: waits < Self.patience)
    self.book = book
    let answers: [LedgerAnswer]
    do {
      try book.load(jobs, from: mayGuess && !needsToBeAlone ? memory : nil)
      answers = try jobs.map { try $0.answer(in: book) }
    } catch is SharedNames.MustBeAlone {
      needsToBeAlone = true
      // The lane rolls back and comes again.
      throw DatabaseError.conflict
    } catch is WrongGuess {
      mayGuess = false
      throw DatabaseError.conflict
    } catch let needed as SharedLedgerBook.MustLockUsers {
      lockedUsers.formUnion(needed.ids)
      throw DatabaseError.conflict
    } catch is SharedLedgerBook.UsersAreHeld {
      waits += 1
      throw DatabaseError.conflict
    }
    waits = 0
    needsToBeAlone = false
    mayGuess = true
    lockedUsers = []
    memory.note(book)
    try book.flush()
    return answers
  }

  /// Reservations tell (RULES §5.5). The lock, held alone, waits for the transaction whose connection broke.
  func wasCommitted(
    _ jobs: [LedgerJob], _ answers: [LedgerAnswer], in transaction: Transaction
  ) throws -> Bool? {
    guard let book else { return nil }
    try transaction.execute(LedgerLock.exclusive.sql, LedgerLock.exclusive.values)
    func found(_ ids: [[UInt8]]) throws -> Bool {
      try transaction.first("select 1 from reservations where id = any($1)", [.blobs(ids)]) { _ in true }
        ?? false
    }
    if !book.made.isEmpty { return try found(Array(book.made.keys)) }
    if !book.taken.isEmpty { return try !found(book.taken) }
    return nil
  }
}

/// Rows of a batch were not as they were seen last, and its lines are others.
struct WrongGuess: Error {}
