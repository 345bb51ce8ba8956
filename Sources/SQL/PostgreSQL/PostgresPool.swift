import System

/// The connections of one database on a PostgreSQL server, spread over event loops.
final class PostgresPool: Sendable {
  private let settings: PostgresSettings
  private let loops: EventLoopGroup
  private let reach = PostgresReach()
  private let orders: PostgresOrders
  private let life: PostgresLife
  private let lanes = Locked(Lanes())

  private struct Lanes {
    var open: [PostgresLane] = []
    var areClosed = false
  }

  /// Connects with the first job, not before.
  ///
  /// - Parameter loops: that whoever waits is on; nil for one of its own, of which it is the end.
  init(_ settings: PostgresSettings, on loops: EventLoopGroup?) throws(DatabaseError) {
    guard settings.isWellFormed else {
      throw .cannotOpen(path: "postgresql", reason: "its URL cannot be read")
    }
    self.settings = settings
    do throws(SystemError) {
      self.loops = if let loops { loops } else { try EventLoopGroup(loops: 1) }
    } catch {
      throw .cannotOpen(path: "postgresql", reason: "\(error)")
    }
    orders = PostgresOrders(watchedBy: self.loops.next())
    life = PostgresLife(self.loops, isOwner: loops == nil)
    for _ in 0..<max(settings.connections, 1) {
      life.begin()
      orders.add(PostgresWorker(on: self.loops.next(), settings, reach, orders, life))
    }
  }

  var traffic: PostgresTraffic { reach.traffic }

  func close() {
    orders.close()
    let open = lanes.withLock { lanes in
      lanes.areClosed = true
      defer { lanes.open = [] }
      return lanes.open
    }
    for lane in open { lane.close() }
  }

  /// False when closed.
  func post(_ job: any Job, isReading: Bool) -> Bool {
    orders.post(
      PostgresOrder(
        job: job, isReading: isReading, deadline: .now + .milliseconds(settings.waitTimeout)))
  }

  /// One that refuses everything, when closed.
  func lane() -> PostgresLane {
    let lane = PostgresLane(on: loops.next(), settings, reach, life)
    lanes.withLock { lanes in
      if lanes.areClosed { return lane.refuse() }
      life.begin()
      lanes.open.append(lane)
    }
    return lane
  }
}
