import System

/// The one connection that writes, in the hands of one thread at a time (``WriterQueue``). Everything that waits
/// shares a transaction and its sync: while one commit runs the next batch gathers, so no timer is needed.
///
/// A job that fails before it wrote is left out and the batch goes on. One that fails after it wrote takes the
/// batch's transaction with it, and the others run again, each in its own. So no job pays for a savepoint.
final class Writer {
  private let connection: Connection
  private let inPlace = InPlace()
  private let checkpointPages: Int
  /// Changes whenever rows may have changed by other hands than a given lane's.
  private var stamp: UInt64 = 1
  private var dataVersion: Int64 = -1
  private(set) var pace: CommitPace

  init(_ connection: Connection, checkpointPages: Int, pace: CommitPace) {
    self.connection = connection
    self.pace = pace
    self.checkpointPages = checkpointPages
  }

  /// Does the jobs and answers them.
  ///
  /// - Parameter waiting: whether another process's lock is waited for. When it is not and there is one, the
  ///   answer is false and nothing was done.
  @discardableResult func commit(_ jobs: [any Job], waiting: Bool = true) -> Bool {
    do throws(DatabaseError) {
      try begin(waiting: waiting)
    } catch {
      if error == .busy, !waiting { return false }
      for job in jobs { job.fail(error) }
      return true
    }
    decide(jobs)
    return true
  }

  /// Whether the write-ahead log has grown so long that it is to be moved into the file.
  var isUntidy: Bool { checkpointPages > 0 && connection.logPages >= checkpointPages }

  /// Moves the write-ahead log into the file when it is due: after the answers, which need not wait for it.
  func tidy() { if isUntidy { connection.checkpoint() } }

  private func decide(_ jobs: [any Job]) {
    // The rule under load: all are of one kind, and need no sorting out.
    if let first = jobs.first, let lane = first.lane, jobs.allSatisfy({ $0.laneID == first.laneID }) {
      do {
        try decide(jobs, by: lane)
      } catch {
        rollback()
        if jobs.count == 1 { first.fail(error) } else { runSingly(jobs) }
        return
      }
      end(jobs)
    } else {
      commitMixed(jobs)
    }
  }

  /// Runs closures as they came, then every lane's jobs; the transaction is begun.
  private func commitMixed(_ jobs: [any Job]) {
    var done: [any Job] = []
    var laned: [ObjectIdentifier: [any Job]] = [:]
    var lanes: [any Lane] = []
    for (index, job) in jobs.enumerated() {
      if let lane = job.lane, let id = job.laneID {
        if laned[id] == nil { lanes.append(lane) }
        laned[id, default: []].append(job)
        continue
      }
      let before = connection.wrote
      connection.wrote = false
      do {
        try inPlace.run(job, on: connection)
        if connection.wrote { stamp += 1 }
        connection.wrote = connection.wrote || before
        done.append(job)
      } catch {
        job.fail(error)
        if connection.wrote || !connection.inTransaction {
          rollback()
          runSingly(done + jobs.suffix(from: index + 1) + laned.values.joined())
          return
        }
        connection.wrote = before
      }
    }
    for lane in lanes {
      let members = laned[ObjectIdentifier(lane)] ?? []
      do {
        try decide(members, by: lane)
        done += members
      } catch {
        rollback()
        if jobs.count == 1 {
          members.forEach { $0.fail(error) }
        } else {
          runSingly(jobs.filter { job in job.lane != nil || done.contains { $0 === job } })
        }
        return
      }
    }
    end(done)
  }

  /// Each job in a transaction of its own.
  private func runSingly(_ jobs: [any Job]) {
    for job in jobs {
      do {
        try begin()
        if let lane = job.lane {
          try decide([job], by: lane)
        } else {
          try inPlace.run(job, on: connection)
          stamp += 1
        }
      } catch {
        rollback()
        job.fail(error)
        continue
      }
      end([job])
    }
  }

  private func decide(_ jobs: [any Job], by lane: any Lane) throws {
    // A database's lanes are made by its engine.
    guard let lane = lane as? any LocalLane else { throw DatabaseError.closed }
    let othersWrote = lane.stamp != stamp
    try lane.decide(jobs, in: SQLiteTransaction(connection), othersWrote: othersWrote)
    stamp += 1
    lane.stamp = stamp
  }

  private func begin(waiting: Bool = true) throws(DatabaseError) {
    if waiting {
      try connection.begin(immediate: true)
    } else {
      try connection.beginWithoutWaiting()
    }
    do throws(DatabaseError) {
      let version = try connection.dataVersion()
      if version != dataVersion {
        dataVersion = version
        stamp += 1
      }
    } catch {
      rollback()
      throw error
    }
  }

  private func end(_ jobs: [any Job]) {
    let start = MonotonicTime.now.nanoseconds
    do {
      try connection.commit()
    } catch {
      rollback()
      for job in jobs { job.fail(error) }
      return
    }
    pace.note(nanoseconds: MonotonicTime.now.nanoseconds - start)
    Answers.finish(jobs)
  }

  private func rollback() {
    connection.rollback()
    stamp += 1
  }
}
