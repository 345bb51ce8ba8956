import System

/// The threads and connections of one database on a PostgreSQL server.
final class PostgresPool: Sendable {
  private let settings: PostgresSettings
  private let reach = PostgresReach()
  private let orders = Mailbox<PostgresOrder>()
  private let lanes = Locked<[Mailbox<any Job>]>([])

  /// Connects with the first job, not before.
  init(_ settings: PostgresSettings) throws(DatabaseError) {
    guard settings.isWellFormed else {
      throw .cannotOpen(path: "postgresql", reason: "its URL cannot be read")
    }
    self.settings = settings
    for _ in 0..<max(settings.connections, 1) {
      Worker.start("sql-postgres") { [settings, reach, orders] in
        InlineExecutor().run { await PostgresWorker(settings, reach, orders).run() }
      }
    }
  }

  var traffic: PostgresTraffic { reach.traffic }

  func close() {
    orders.close()
    lanes.withLock { for lane in $0 { lane.close() } }
  }

  /// False when closed.
  func post(_ job: any Job, isReading: Bool) -> Bool {
    orders.post(
      PostgresOrder(
        job: job, isReading: isReading,
        deadline: MonotonicTime.now.nanoseconds + settings.waitTimeout * 1_000_000))
  }

  /// The mailbox of a new lane.
  func lane() -> Mailbox<any Job> {
    let mailbox = Mailbox<any Job>()
    lanes.withLock { $0.append(mailbox) }
    Worker.start("sql-lane") { [settings, reach] in
      InlineExecutor().run { await PostgresLane(settings, reach, mailbox).run() }
    }
    return mailbox
  }
}
