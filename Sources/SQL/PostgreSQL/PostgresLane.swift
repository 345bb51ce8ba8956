import Glibc
import System

/// The thread and connection of one lane: everything that waits is decided in one transaction, and while it
/// commits the next batch gathers. The decider locks its rows in one order, so that nodes never wait in a circle.
final class PostgresLane {
  private let settings: PostgresSettings
  private let reach: PostgresReach
  private let mailbox: Mailbox<any Job>
  private var connection: PostgresConnection?

  private static let attempts = 8

  init(_ settings: PostgresSettings, _ reach: PostgresReach, _ mailbox: Mailbox<any Job>) {
    self.settings = settings
    self.reach = reach
    self.mailbox = mailbox
  }

  /// Until the mailbox is closed and empty.
  func run() async {
    while let jobs = mailbox.take(max(settings.batchLimit, 1)) { await commit(jobs) }
  }

  func commit(_ jobs: [any Job]) async {
    guard let lane = jobs.first?.lane as? any SharedLane else { return }
    var attempt = 0
    while true {
      attempt += 1
      let isFresh = connection == nil
      do {
        try await transact { try await lane.decide(jobs, in: $0) }
        Answers.finish(jobs)
        return
      } catch {
        switch error as? DatabaseError {
        case .conflict? where attempt < Self.attempts:
          usleep(UInt32.random(in: 500...2_000) * UInt32(attempt))
        case .unavailable? where connection == nil && !isFresh && attempt == 1:
          break
        case .outcomeUnknown?:
          switch await wasCommitted(jobs, lane) {
          case true?:
            Answers.finish(jobs)
            return
          case false? where attempt < Self.attempts: break
          default:
            for job in jobs { job.fail(error) }
            return
          }
        case .unavailable?, .timedOut?, .conflict?, .readOnly?, .diskFull?:
          for job in jobs { job.fail(error) }
          return
        default:
          guard jobs.count > 1 else {
            jobs.first?.fail(error)
            return
          }
          for job in jobs { await commit([job]) }
          return
        }
      }
    }
  }

  /// Asks the database, when the answer to a commit was lost; nil when that cannot be known.
  func wasCommitted(_ jobs: [any Job], _ lane: any SharedLane) async -> Bool? {
    for round in 0..<20 {
      if round > 0 { usleep(100_000) }
      var found: Bool?
      do {
        try await transact { found = try await lane.wasCommitted(jobs, in: $0) }
        return found
      } catch {
        continue
      }
    }
    return nil
  }

  func transact(_ body: (Transaction) async throws -> Void) async throws {
    let open = try connection ?? reach.connect(settings)
    var isAnnounced = connection != nil
    connection = open
    do {
      if !isAnnounced { try await Silence.announce(open) }
      isAnnounced = true
      open.begin("isolation level read committed", syncs: .commit)
      try await body(Transaction(open))
      try open.commit()
    } catch {
      open.rollback()
      if open.isBroken || !isAnnounced {
        connection = nil
        reach.lost()
      } else if error as? DatabaseError == .timedOut {
        await Silence.end(settings, on: open)
      }
      throw error
    }
  }
}
