import Glibc
import System

/// A job that waits for one of the pool's connections.
struct PostgresOrder: Sendable {
  var job: any Job
  var isReading: Bool
  /// When it is given up unless it was begun, monotonic nanoseconds.
  var deadline: Int64
}

/// A thread with a connection of its own, which runs transactions one after another. Closures are run as they
/// are, so they wait for the network on this thread and on no other.
final class PostgresWorker {
  private let settings: PostgresSettings
  private let reach: PostgresReach
  private let mailbox: Mailbox<PostgresOrder>
  private var connection: PostgresConnection?

  init(_ settings: PostgresSettings, _ reach: PostgresReach, _ mailbox: Mailbox<PostgresOrder>) {
    self.settings = settings
    self.reach = reach
    self.mailbox = mailbox
  }

  /// Until the mailbox is closed and empty.
  func run() async {
    while let orders = mailbox.take(1) {
      for order in orders { await serve(order) }
    }
  }

  private func serve(_ order: PostgresOrder) async {
    guard order.deadline > MonotonicTime.now.nanoseconds else {
      order.job.fail(DatabaseError.unavailable("no connection was free in time"))
      return
    }
    var attempt = 0
    while true {
      attempt += 1
      let isFresh = connection == nil
      do {
        let open = try connection ?? reach.connect(settings)
        connection = open
        try await transact(open, order)
        order.job.finish()
        return
      } catch {
        let wasConnected = connection != nil
        leave()
        switch error as? DatabaseError {
        case .unavailable? where !wasConnected && reach.hasOthers && mailbox.post(order):
          // The server has no connection left for this thread; others have theirs.
          usleep(50_000)
          return
        case .unavailable? where wasConnected && connection == nil && !isFresh && attempt == 1:
          // It broke while it was idle: nothing was committed, and a new one may do.
          continue
        case .conflict? where attempt < 10:
          usleep(UInt32.random(in: 1_000...4_000) * UInt32(attempt))
          continue
        default:
          order.job.fail(error)
          if error as? DatabaseError == .timedOut, let open = connection {
            await Silence.end(settings, on: open)
          }
          return
        }
      }
    }
  }

  private func transact(_ open: PostgresConnection, _ order: PostgresOrder) async throws {
    // Serializable: a closure may look and then write, as if it were alone.
    open.begin(order.isReading ? "isolation level repeatable read read only" : "isolation level serializable")
    try await order.job.run(in: Transaction(open))
    try open.commit()
  }

  /// Ends what was begun, and lets go of a broken connection.
  private func leave() {
    connection?.rollback()
    if let open = connection, open.isBroken {
      connection = nil
      reach.lost()
    }
  }
}
