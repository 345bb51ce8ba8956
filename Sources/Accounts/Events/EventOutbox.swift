/// Events on their way to the app's backend. They are written by the steps that they tell of, in the same
/// transaction. Each method is one atomic step; times are milliseconds since 1970.
package protocol EventOutbox: Sendable {
  /// Which kinds go where from now on. Whoever is not named is told nothing more; what waits for them stays for three
  /// days, in case they are named again.
  func subscribe(_ endpoints: [EventSubscription]) async throws
  /// Takes what is due for an endpoint, oldest first. It is the caller's for `lease` milliseconds; if nothing is said
  /// of it by then, it is due again, with the same id.
  func claim(_ url: String, limit: Int64, lease: Int64, now: Int64) async throws -> [EventDelivery]
  /// Notes that the endpoint took it. Holds also where the lease had ended.
  func delivered(_ delivery: EventDelivery, outcome: String, now: Int64) async throws
  /// Notes that it was not taken: it is due again after `delay` milliseconds, or dead where there is none. False, and
  /// nothing changed, where somebody else has it by now.
  func failed(
    _ delivery: EventDelivery, outcome: String, delay: Int64?, now: Int64
  ) async throws -> Bool
  /// The endpoint wants no more: what waits for it is dead, and what comes is dead from the start, until it is
  /// replayed.
  func close(_ url: String, now: Int64) async throws
  /// Makes events wait anew, with the ids that they have, and opens their endpoints; how many.
  func replay(_ selection: EventSelection, now: Int64) async throws -> Int
  /// Events by their number, newest first, of those before `before`.
  func events(_ state: EventState?, url: String?, before: Int64?, limit: Int64) async throws -> [EventRecord]
  /// Gives up what waits for nobody for three days, and forgets what ended before that time, `limit` at most; how many
  /// it forgot.
  func tidy(endedBefore: Int64, limit: Int64, now: Int64) async throws -> Int
}

/// Who is told of what.
package struct EventSubscription: Sendable, Equatable {
  package var url: String
  package var kinds: Set<OutgoingEvent.Kind>

  package init(url: String, kinds: Set<OutgoingEvent.Kind>) {
    self.url = url
    self.kinds = kinds
  }
}

/// An attempt to deliver an event.
package struct EventDelivery: Sendable, Equatable {
  /// Its row.
  package var number: Int64
  /// `webhook-id`, the same for every attempt.
  package var id: String
  package var type: String
  /// The body, the same for every attempt unless the user's address was erased meanwhile.
  package var body: [UInt8]
  /// From 1.
  package var attempt: Int64

  package init(number: Int64, id: String, type: String, body: [UInt8], attempt: Int64) {
    self.number = number
    self.id = id
    self.type = type
    self.body = body
    self.attempt = attempt
  }
}

/// Where an event is.
package enum EventState: Int64, Sendable, CaseIterable {
  case waiting = 0
  case delivered = 1
  /// Given up; an operator may replay it.
  case dead = 2
}

/// Which events to replay.
package enum EventSelection: Sendable, Equatable {
  /// One, also where it was delivered.
  case id(String)
  /// Every dead one, or every one of an endpoint.
  case dead(url: String?)
}

/// An event as an operator sees it. Times are milliseconds since 1970.
package struct EventRecord: Sendable, Equatable {
  package var number: Int64
  package var id: String
  package var type: String
  package var url: String
  package var user: String?
  package var createdAt: Int64
  package var state: EventState
  package var attempts: Int64
  package var nextTry: Int64
  package var endedAt: Int64?
  /// What came of the last attempt.
  package var outcome: String?

  package init(
    number: Int64, id: String, type: String, url: String, user: String?, createdAt: Int64, state: EventState,
    attempts: Int64, nextTry: Int64, endedAt: Int64?, outcome: String?
  ) {
    self.number = number
    self.id = id
    self.type = type
    self.url = url
    self.user = user
    self.createdAt = createdAt
    self.state = state
    self.attempts = attempts
    self.nextTry = nextTry
    self.endedAt = endedAt
    self.outcome = outcome
  }
}
