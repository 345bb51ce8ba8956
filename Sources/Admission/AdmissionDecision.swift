package import Gateway

/// What the ledger decided, after it is durable.
package enum AdmissionDecision: Sendable, Equatable {
  /// Let in: every line is counted and the money held.
  case admitted(Admitted)
  /// Refused; no line was counted. The counter and a challenge with a row are consumed all the same once the
  /// signature held (RULES §1.5).
  case refused(AdmissionRefusal)
}

/// Who was let in.
package struct Admitted: Sendable, Equatable {
  /// The key; nil where the route asks for no evidence.
  package var keyID: [UInt8]?
  /// The key's current user.
  package var userID: String?
  /// What is left of each counted window after this request, in the order of the request's charges.
  package var remaining: [Remaining]
  /// The counter came later than a higher one (a metric).
  package var outOfOrder: Bool
  /// The places of the request's choices that may be asked, in their order; the others are closed, or their
  /// provider's own limits are used up.
  package var choices: [Int]

  package init(
    keyID: [UInt8]?, userID: String?, remaining: [Remaining], outOfOrder: Bool = false, choices: [Int] = []
  ) {
    self.keyID = keyID
    self.userID = userID
    self.remaining = remaining
    self.outOfOrder = outOfOrder
    self.choices = choices
  }
}

/// What is left of a window for a subject.
package struct Remaining: Sendable, Equatable {
  package var rule: String
  package var limit: Int64
  package var remaining: Int64
  /// When the window ends, milliseconds since 1970.
  package var resetsAt: Int64
  package var windowStart: Int64
  package var unit: QuotaUnit

  package init(
    rule: String, limit: Int64, remaining: Int64, resetsAt: Int64, windowStart: Int64,
    unit: QuotaUnit = .requests
  ) {
    self.rule = rule
    self.unit = unit
    self.limit = limit
    self.remaining = remaining
    self.resetsAt = resetsAt
    self.windowStart = windowStart
  }
}

/// Why a request was not let in.
package enum AdmissionRefusal: Sendable, Equatable {
  /// No such key, or revoked: the SDK registers anew (with a cool-down).
  case unknownKey
  /// The key is banned.
  case banned
  /// The row's app, environment or anchor is not accepted today.
  case keyNotAccepted
  /// The counter was accepted before, is 0, or lies behind the window.
  case counterReplayed
  /// The challenge was used before, or lies at or below the floor.
  case challengeUsed
  /// The key has had too many users; when another may be, milliseconds since 1970 (RULES §1.9).
  case tooManyUsers(until: Int64)
  /// The user of the access token is gone.
  case userGone
  /// The user of the access token is being deleted (RULES §4.1).
  case userLeaving
  /// The session of the access token is over.
  case sessionOver
  /// The user of the access token is held by another transaction, such as their deletion, for longer than a request
  /// may wait to make them the key's; or their session is, for what is bought with it.
  case userHeld
  /// The user of the access token is banned, or the key's current user where none came (RULES §1.9).
  case userBanned
  /// The session or debug token is unknown, expired, ended, or not for this route.
  case invalidToken
  /// The model is closed until an operator has looked (RULES §5.2).
  case modelClosed
  /// Too many requests of the subject run at once.
  case inFlight(rule: String)
  /// Too fast; when to come again, milliseconds since 1970.
  case burst(rule: String, retryAt: Int64)
  /// A window is used up: of several, the one that ends last.
  case exhausted(Remaining)
}

/// How a reservation ends.
package struct Settlement: Sendable, Equatable {
  /// What the charge lines become.
  package enum Outcome: Sendable, Equatable {
    /// Held money becomes `cost` pico-dollars, held tokens and images become those, whatever was held
    /// (RULES §5.2: an actual above the reserve is booked as it is). Counts stay.
    case used(cost: Int64, tokens: Int64 = 0, images: Int64 = 0)
    /// What is held is released. `giveBackCount`: the day counts too, where RULES §5.4 allows it; the ledger
    /// caps that at 5 a key a day.
    case released(giveBackCount: Bool)
  }

  /// The admitted request's id.
  package var id: [UInt8]
  package var outcome: Outcome
  /// Milliseconds since 1970.
  package var now: Int64
  /// The row for the usage table; nil for requests that reach no provider.
  package var usage: UsageRecord?
  /// The model that is closed by the same step, also where the reservation was ended before.
  package var closure: ModelClosure?
  /// Limits that turned out not to be of this call, because they count another provider's calls: what they hold is
  /// released and what they counted is taken back, whatever the outcome (RULES §5.6).
  package var spared: Set<String>

  package init(
    id: [UInt8], outcome: Outcome, now: Int64, usage: UsageRecord? = nil, closure: ModelClosure? = nil,
    sparing spared: Set<String> = []
  ) {
    self.id = id
    self.outcome = outcome
    self.now = now
    self.usage = usage
    self.closure = closure
    self.spared = spared
  }
}

/// A row of what was used: tokens by class, pico-dollars, times.
package struct UsageRecord: Sendable, Equatable {
  package var keyID: [UInt8]?
  package var userID: String?
  package var route: String
  package var provider: String
  package var model: String
  /// The function that made the call; nil where it was passed through.
  package var function: String?
  /// The status that the device got.
  package var status: Int
  package var inputTokens: Int64
  package var cacheReadTokens: Int64
  package var cacheWrite5mTokens: Int64
  package var cacheWrite1hTokens: Int64
  package var outputTokens: Int64
  package var images: Int64
  /// What the provider bills by where that is not tokens, in millionths.
  package var units: Int64
  /// Pico-dollars.
  package var cost: Int64
  /// Whether `cost` is the provider's final usage or an estimate by RULES §5.2.
  package var estimated: Bool
  /// Milliseconds since 1970.
  package var startedAt: Int64
  /// Milliseconds from the start to the first octet of the answer; nil when there was none.
  package var firstByte: Int64?
  /// Milliseconds from the start to the end.
  package var duration: Int64

  package init(
    keyID: [UInt8]?, userID: String?, route: String, provider: String, model: String, status: Int,
    inputTokens: Int64 = 0, cacheReadTokens: Int64 = 0, cacheWrite5mTokens: Int64 = 0,
    cacheWrite1hTokens: Int64 = 0, outputTokens: Int64 = 0, cost: Int64 = 0, estimated: Bool = false,
    startedAt: Int64, firstByte: Int64? = nil, duration: Int64 = 0, function: String? = nil,
    images: Int64 = 0, units: Int64 = 0
  ) {
    self.keyID = keyID
    self.userID = userID
    self.route = route
    self.provider = provider
    self.model = model
    self.status = status
    self.inputTokens = inputTokens
    self.cacheReadTokens = cacheReadTokens
    self.cacheWrite5mTokens = cacheWrite5mTokens
    self.cacheWrite1hTokens = cacheWrite1hTokens
    self.outputTokens = outputTokens
    self.cost = cost
    self.estimated = estimated
    self.startedAt = startedAt
    self.firstByte = firstByte
    self.duration = duration
    self.function = function
    self.images = images
    self.units = units
  }
}

/// The ledger: admission and its end. Each method is one atomic, durable step.
package protocol AdmissionLedger: Sendable {
  /// Decides and writes; a refusal is a value, never a database error (RULES §5.5).
  func admit(_ request: AdmissionRequest) async throws -> AdmissionDecision
  /// Ends the reservation exactly once; false when it was ended before (the sweep, a repeated call).
  @discardableResult func settle(_ settlement: Settlement) async throws -> Bool
  /// Has the reservation's lease last for `lease` milliseconds from now on; false when it is settled already.
  func renew(_ id: [UInt8], for lease: Int64, now: Int64) async throws -> Bool
  /// Settles reservations whose lease is over at their full hold; how many. `now`, milliseconds since 1970,
  /// judges that only where the database has no clock for all nodes (RULES §5.5).
  func sweep(now: Int64) async throws -> Int
  /// Admits the exchange (the assertion, its challenge row, its charges) and keeps the session token; the
  /// key's oldest live tokens beyond `atMost` end (RULES §1.8).
  func issueSession(
    _ request: AdmissionRequest, token: SessionToken, atMost: Int
  ) async throws -> AdmissionDecision
  /// Forgets rows of usage that began longer than `age` milliseconds ago, the oldest first and `limit` at most; how
  /// many.
  func forgetUsage(olderThan age: Int64, atMost limit: Int, now: Int64) async throws -> Int
  /// Whether a session or debug token of that hash lives, seconds since 1970: what is asked before a stranger's
  /// body is read. ``admit(_:)`` judges the token itself.
  func knows(tokenHash: [UInt8], now: Int64) async throws -> Bool
  /// What is left of each window line for a key, without counting.
  func remaining(keyID: [UInt8], charges: [Charge], now: Int64) async throws -> [Remaining]
  /// What was raised on this node and is committed, since the last asking.
  func takeAlarms() async -> [LimitAlarm]
}

extension AdmissionLedger {
  package func takeAlarms() async -> [LimitAlarm] { [] }
}

/// An attested session token as it is kept.
package struct SessionToken: Sendable, Equatable {
  /// SHA-256 of the token.
  package var hash: [UInt8]
  /// The route templates that it opens.
  package var routes: [String]
  /// Seconds since 1970.
  package var expiry: Int64
  /// The account's session whose access token it was bought with, by its id: it ends with that one.
  package var session: [UInt8]?

  package init(hash: [UInt8], routes: [String], expiry: Int64, session: [UInt8]? = nil) {
    self.hash = hash
    self.routes = routes
    self.expiry = expiry
    self.session = session
  }
}

/// Debug tokens for simulators: named, hashed, expiring. Each method is one atomic step.
package protocol DebugTokenStore: Sendable {
  /// Keeps a token; false when the name is taken. `expiry` in seconds since 1970.
  func createDebugToken(name: String, hash: [UInt8], expiry: Int64, now: Int64) async throws -> Bool
  /// Ends a token by its name; false when there is none.
  func revokeDebugToken(name: String) async throws -> Bool
  /// Name, expiry and last use (seconds since 1970) of every token.
  func debugTokens() async throws -> [(name: String, expiry: Int64, lastUse: Int64?)]
}
