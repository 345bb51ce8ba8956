package import Accounts
package import Admission
package import AppAttest
package import Gateway
package import HTTPMessages
package import UserData

/// Everything that the application takes from outside itself. The executable's Compose.swift gives the live
/// ones; a test gives a fixed clock, seeded randomness, a database in memory and simulated providers.
///
/// A class, since every part of the application keeps it: copying it would count a reference for each member.
package final class Environment: Sendable {
  package let configuration: Configuration
  /// The wall clock, milliseconds since 1970.
  package let now: @Sendable () -> Int64
  /// A clock that never goes back, nanoseconds since some instant.
  package let uptime: @Sendable () -> Int64
  /// So many octets from a source fit for keys.
  package let random: @Sendable (Int) -> [UInt8]
  /// Runs work that outlives the request, such as the settlement of a call whose client left. The
  /// executable waits for it when it stops.
  package let background: @Sendable (@escaping @Sendable () async -> Void) -> Void
  /// Runs long computations away from the loop that serves requests.
  package let offload: any Offload
  /// Waits; throws when the task is cancelled. Does not wait where nobody gives it.
  package let sleep: @Sendable (Duration) async throws -> Void
  /// How many lines of the log were dropped, because nobody read them in time.
  package let droppedLogLines: @Sendable () -> Int
  /// Takes one line of the log, JSON without its line end.
  package let log: @Sendable (String) -> Void
  /// The content of the zone file (RFC 8536) of `configuration.timeZone`.
  package let zone: [UInt8]
  package let keys: any DeviceKeyStore
  /// Keys of apps that speak Anthropic's flow; nil offers it to none.
  package let tokenMints: (any TokenMintStore)?
  package let ledger: any AdmissionLedger
  package let debugTokens: any DebugTokenStore
  /// Calls that providers' queues have; nil where no queue is offered.
  package let queuedCalls: (any QueuedCallStore)?
  /// What is needed to ask Apple about devices; nil where it is not asked.
  package let devices: DeviceEnvironment?
  /// Answers that are kept for requests with an `Idempotency-Key`; nil keeps none.
  package let answers: (any KeptAnswerStore)?
  /// Objects of users; nil keeps none.
  package let objects: (any ObjectStore)?
  /// What accounts need; nil where there are none.
  package let accounts: AccountEnvironment?
  /// Events on their way to the app's backend; nil where none are sent.
  package let events: (any EventOutbox)?
  /// Whether the database answers.
  package let isReady: @Sendable () async -> Bool
  /// The providers: an HTTP client in the executable. It says what went wrong by `HTTPClientError`; of any
  /// other error it is assumed that the request was written.
  package let upstream: any HTTPHandler
  /// Everybody else: files that providers made, webhooks and hooks (RULES §6.3).
  package let outside: OutsideNetwork

  package init(
    configuration: Configuration, now: @escaping @Sendable () -> Int64,
    uptime: @escaping @Sendable () -> Int64, random: @escaping @Sendable (Int) -> [UInt8],
    background: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
    offload: any Offload,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in },
    droppedLogLines: @escaping @Sendable () -> Int = { 0 },
    log: @escaping @Sendable (String) -> Void, zone: [UInt8], keys: any DeviceKeyStore,
    tokenMints: (any TokenMintStore)? = nil, ledger: any AdmissionLedger, debugTokens: any DebugTokenStore,
    queuedCalls: (any QueuedCallStore)? = nil, devices: DeviceEnvironment? = nil,
    answers: (any KeptAnswerStore)? = nil,
    accounts: AccountEnvironment? = nil, objects: (any ObjectStore)? = nil,
    isReady: @escaping @Sendable () async -> Bool, upstream: any HTTPHandler,
    outside: OutsideNetwork = .none, events: (any EventOutbox)? = nil
  ) {
    self.configuration = configuration
    self.now = now
    self.uptime = uptime
    self.random = random
    self.background = background
    self.offload = offload
    self.sleep = sleep
    self.droppedLogLines = droppedLogLines
    self.log = log
    self.zone = zone
    self.keys = keys
    self.tokenMints = tokenMints
    self.ledger = ledger
    self.debugTokens = debugTokens
    self.queuedCalls = queuedCalls
    self.devices = devices
    self.answers = answers
    self.accounts = accounts
    self.objects = objects
    self.isReady = isReady
    self.upstream = upstream
    self.outside = outside
    self.events = events
  }

  /// Does the work to its end, also when whoever waits for it is cancelled.
  func toTheEnd<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      background { continuation.resume(returning: await work()) }
    }
  }
}
