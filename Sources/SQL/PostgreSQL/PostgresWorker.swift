import System

/// One of the pool's connections, on an event loop, which runs transactions one after another.
@safe final class PostgresWorker: @unchecked Sendable {
  let loop: EventLoop
  private let settings: PostgresSettings
  private let reach: PostgresReach
  private let orders: PostgresOrders
  private let life: PostgresLife
  /// The loop's.
  private var connection: PostgresConnection?
  private let connected = Locked(false)

  private static let attempts = 16

  init(
    on loop: EventLoop, _ settings: PostgresSettings, _ reach: PostgresReach, _ orders: PostgresOrders,
    _ life: PostgresLife
  ) {
    self.loop = loop
    self.settings = settings
    self.reach = reach
    self.orders = orders
    self.life = life
  }

  /// As far as is known; from any thread.
  var isConnected: Bool { connected.withLock { $0 } }

  /// Does it, and what waits then. From any thread, for one that has nothing to do.
  func begin(_ order: PostgresOrder) {
    loop.run {
      await self.serve(order)
      while let order = self.orders.next(for: self) { await self.serve(order) }
    }
  }

  /// Ends its connection. From any thread, for one that has nothing to do and gets nothing any more.
  func end() {
    loop.perform {
      self.keep(nil)
      self.life.end()
    }
  }

  private func serve(_ order: PostgresOrder) async {
    guard order.deadline > .now else { return order.giveUp() }
    var attempt = 0
    // Whoever is in the way may be so again and again: that is tried by time, and never only once or twice.
    let patience = MonotonicTime.now + .milliseconds(settings.statementTimeout)
    var hasTurn = false
    defer { if hasTurn { orders.turn.giveUp() } }
    while true {
      attempt += 1
      let isFresh = connection == nil
      do {
        try await transact(order)
        order.job.finish()
        return
      } catch {
        let wasConnected = connection != nil
        await leave()
        switch error as? DatabaseError {
        case .unavailable? where !wasConnected && reach.hasOthers && orders.post(order, again: true):
          // The server has no connection left for this one; others have theirs.
          try? await loop.sleep(for: .milliseconds(50))
          return
        case .unavailable? where wasConnected && connection == nil && !isFresh && attempt == 1:
          // It broke while it was idle: nothing was committed, and a new one may do.
          continue
        case .conflict? where attempt < Self.attempts || .now < patience:
          if attempt > 1, !hasTurn {
            await orders.turn.take()
            hasTurn = true
          }
          try? await loop.sleep(for: .microseconds(Int.random(in: 1_000...4_000) * min(attempt, 4)))
          continue
        default:
          order.job.fail(error)
          if error as? DatabaseError == .timedOut, let connection {
            await Silence.end(settings, on: connection)
          }
          return
        }
      }
    }
  }

  private func transact(_ order: PostgresOrder) async throws {
    let open: PostgresConnection
    if let connection { open = connection } else { open = try await reach.connect(settings, on: loop) }
    keep(open)
    // Serializable: a closure may look and then write, as if it were alone.
    open.begin(order.isReading ? "isolation level repeatable read read only" : "isolation level serializable")
    try await order.job.run(in: Transaction(open))
    try await open.commit()
  }

  /// Ends what was begun, and lets go of a broken connection.
  private func leave() async {
    await connection?.rollback()
    if let connection, connection.isBroken { keep(nil) }
  }

  private func keep(_ open: PostgresConnection?) {
    switch (connection, open) {
    case (nil, _?): reach.joined()
    case (let former?, nil):
      former.leave()
      reach.lost()
    default: break
    }
    connection = open
    connected.withLock { $0 = open != nil }
  }
}
