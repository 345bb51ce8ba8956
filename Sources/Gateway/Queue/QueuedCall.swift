/// A call that a provider's queue works on, and what it is settled by (RULES §5.7). Times are milliseconds since
/// 1970.
package struct QueuedCall: Sendable, Equatable {
  /// How long the reservation waits for the end; then the whole of it is booked.
  package static let lease: Int64 = 86_400_000
  /// How long before that the call is given up, so that its row of usage says which one it was.
  package static let margin: Int64 = 600_000
  /// How long a call that has ended can be asked for.
  package static let retention: Int64 = 2 * 86_400_000

  /// By what the app knows it: 16 random octets. The provider's own name is not told.
  package var id: [UInt8]
  /// The reservation that it settles.
  package var reservation: [UInt8]
  package var provider: String
  package var model: String
  /// The template of the route that took it.
  package var route: String
  /// By what the provider knows it.
  package var upstreamID: String
  /// The key's id, or the hash of a debug token.
  package var owner: [UInt8]
  /// The key's user at that time; empty once the user is deleted, and then it is nobody's.
  package var userID: String?
  /// The price in force when it came.
  package var unit: UnitPrice
  /// Millionths of a unit that it can come to.
  package var microUnitBound: Int64
  /// Images that it can make.
  package var imageBound: Int64
  /// Pico-dollars that are held.
  package var reserve: Int64
  package var submittedAt: Int64
  /// How often the provider gave no clear answer.
  package var attempts: Int64
  /// When it was settled; nil before.
  package var endedAt: Int64?

  package init(
    id: [UInt8], reservation: [UInt8], provider: String, model: String, route: String, upstreamID: String,
    owner: [UInt8], userID: String?, unit: UnitPrice, microUnitBound: Int64, imageBound: Int64,
    reserve: Int64,
    submittedAt: Int64, attempts: Int64 = 0, endedAt: Int64? = nil
  ) {
    self.id = id
    self.reservation = reservation
    self.provider = provider
    self.model = model
    self.route = route
    self.upstreamID = upstreamID
    self.owner = owner
    self.userID = userID
    self.unit = unit
    self.microUnitBound = microUnitBound
    self.imageBound = imageBound
    self.reserve = reserve
    self.submittedAt = submittedAt
    self.attempts = attempts
    self.endedAt = endedAt
  }

  /// Whether they may ask for it: the same key, and the user who it had, where it had one.
  package func belongs(to owner: [UInt8], userID: String?) -> Bool {
    owner == self.owner && (self.userID == nil || (self.userID == userID && userID?.isEmpty == false))
  }

  /// Whether nothing more is waited for.
  package func isOverdue(at now: Int64) -> Bool { now - submittedAt >= Self.lease - Self.margin }

  /// Milliseconds until it is looked at again: often while somebody may wait, rarely later.
  package func pause(at now: Int64) -> Int64 {
    switch now - submittedAt {
    case ..<60_000: 2_000
    case ..<600_000: 10_000
    default: 60_000
    }
  }

  /// The settlement where nothing is known.
  package var atReserve: CallSettlement {
    CallSettlement(
      outcome: .used(cost: reserve), usage: TokenUsage(microUnits: microUnitBound), images: imageBound,
      estimated: true)
  }

  /// The settlement at so many millionths of a unit.
  ///
  /// - Parameter images: those of the answer; nil where nobody counted them.
  package func settlement(microUnits: Int64, images: Int64?, estimated: Bool) -> CallSettlement {
    guard let cost = unit.cost(microUnits: microUnits) else { return atReserve }
    return CallSettlement(
      outcome: .used(cost: cost), usage: TokenUsage(microUnits: microUnits), images: images ?? imageBound,
      estimated: estimated)
  }
}

/// Calls that providers' queues have. Each method is one atomic step; times are milliseconds since 1970.
package protocol QueuedCallStore: Sendable {
  /// Keeps a new one, to be looked at first at `nextLook`.
  func add(_ call: QueuedCall, nextLook: Int64) async throws
  /// The call of that id.
  func call(_ id: [UInt8]) async throws -> QueuedCall?
  /// The call that settles that reservation.
  func call(ofReservation id: [UInt8]) async throws -> QueuedCall?
  /// Takes the open calls that are to be looked at, the longest due first: until `again` no other node gets them.
  func take(dueAt now: Int64, again: Int64, atMost limit: Int) async throws -> [QueuedCall]
  /// Has an open call looked at again; `unclear` counts the attempt.
  func look(at id: [UInt8], again: Int64, unclear: Bool) async throws
  /// Ends it; false when it has ended before.
  func end(_ id: [UInt8], now: Int64) async throws -> Bool
  /// Forgets calls that ended before an instant, at most so many; how many.
  func forget(endedBefore time: Int64, atMost limit: Int) async throws -> Int
}
