/// A connection that reads beside the writer, on a thread of its own, each job in a snapshot.
final class Reader {
  private let connection: Connection
  private let inPlace = InPlace()
  private let mailbox: Mailbox<any Job>

  init(_ connection: Connection, _ mailbox: Mailbox<any Job>) {
    self.connection = connection
    self.mailbox = mailbox
  }

  /// Until the mailbox is closed and empty.
  func run() {
    while let jobs = mailbox.take(1) {
      for job in jobs {
        do {
          try connection.begin(immediate: false)
          try inPlace.run(job, on: connection)
          try connection.commit()
          job.finish()
        } catch {
          connection.rollback()
          job.fail(error)
        }
      }
    }
  }
}
