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
  func run() {
    while let jobs = mailbox.take(max(settings.batchLimit, 1)) { commit(jobs) }
  }

  private func commit(_ jobs: [any Job]) {
    guard let lane = jobs.first?.lane else { return }
    var attempt = 0
    while true {
      attempt += 1
      let isFresh = connection == nil
      do {
        try transact { try lane.decide(jobs, in: $0, othersWrote: true) }
        Answers.finish(jobs)
        return
      } catch {
        switch error as? DatabaseError {
        case .conflict? where attempt < Self.attempts:
          usleep(UInt32.random(in: 500...2_000) * UInt32(attempt))
        case .unavailable? where connection == nil && !isFresh && attempt == 1:
          break
        case .outcomeUnknown?:
          switch wasCommitted(jobs, lane) {
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
          for job in jobs { commit([job]) }
          return
        }
      }
    }
  }

  /// Asks the database, when the answer to a commit was lost; nil when that cannot be known.
  private func wasCommitted(_ jobs: [any Job], _ lane: any Lane) -> Bool? {
    for round in 0..<20 {
      if round > 0 { usleep(100_000) }
      var found: Bool?
      do {
        try transact { found = try lane.wasCommitted(jobs, in: $0) }
        return found
      } catch {
        continue
      }
    }
    return nil
  }

  private func transact(_ body: (Transaction) throws -> Void) throws {
    let open = try connection ?? reach.connect(settings)
    var isAnnounced = connection != nil
    connection = open
    do {
      if !isAnnounced { try Silence.announce(open) }
      isAnnounced = true
      open.begin("isolation level read committed", syncs: .commit)
      try body(Transaction(open))
      try open.commit()
    } catch {
      open.rollback()
      if open.isBroken || !isAnnounced {
        connection = nil
        reach.lost()
      } else if error as? DatabaseError == .timedOut {
        Silence.end(settings, on: open)
      }
      throw error
    }
  }
}
