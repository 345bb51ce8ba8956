import CPostgres
import System

/// One connection to a PostgreSQL server. It belongs to an event loop, which watches the socket and turns while an
/// answer is waited for, with a deadline; libpq itself never blocks. Statements are prepared once and sent in
/// pipelines; where their Syncs are, `Syncs` says.
@safe final class PostgresConnection {
  private let owner: PostgresHandle
  private let handle: OpaquePointer
  private let socket: PostgresSocket
  /// Where a transaction has the server wait for what comes next as one that is idle.
  enum Syncs {
    /// After every flight: a server ends a transaction whose client is silent for too long.
    case everyFlight
    /// With the commit alone; what comes before is asked for by flush requests. See `Silence`.
    case commit
  }

  private let settings: PostgresSettings
  private let traffic: PostgresTraffic
  private var syncs = Syncs.everyFlight
  /// Whether flights were sent after the last Sync.
  private var isUnsynced = false
  /// Whether one of those failed: the server passes over everything until a Sync comes.
  private var isPassedOver = false
  private var prepared: [String: String] = [:]
  /// Statements that go out with the next flight.
  private var pending: [Query] = []
  /// Whether something of the current transaction was sent.
  private var hasBegun = false
  /// Whether it is of no use any more: what it was doing was not committed, unless a commit was under way.
  private(set) var isBroken = false
  /// When the loop last had time for others, as far as this transaction keeps it.
  private var turned = MonotonicTime.now
  /// The rows that the last statement changed.
  private(set) var changes = 0
  /// How long a statement of this transaction may take at the server, milliseconds; ours to end it, if the server
  /// does not, is a little longer.
  var patience: Int32

  /// - Parameter loop: on which alone it is used.
  init(_ handle: PostgresHandle, on loop: EventLoop, _ settings: PostgresSettings, _ traffic: PostgresTraffic)
  {
    owner = handle
    unsafe self.handle = handle.pointer
    socket = unsafe PostgresSocket(PQsocket(handle.pointer), on: loop)
    self.settings = settings
    self.traffic = traffic
    patience = settings.statementTimeout
  }

  /// The loop that it belongs to.
  var loop: EventLoop { socket.loop }

  /// Tells the server what holds for the whole session. Before anything else.
  func greet() async throws(DatabaseError) {
    try await run(script: settings.greeting)
    unsafe PQenterPipelineMode(handle)
  }

  /// Between the pieces of long work: lets the loop see to others, where it had no turn for 200 µs.
  func breathe() async {
    guard MonotonicTime.now.nanoseconds - turned.nanoseconds > 200_000 else { return }
    await loop.turn()
    turned = .now
  }

  /// The loop lets go of it. Nothing may be asked of it any more.
  func leave() {
    isBroken = true
    socket.leave()
  }

  // MARK: Transactions

  /// Takes effect with the first statement.
  func begin(_ mode: String, syncs: Syncs = .everyFlight) {
    self.syncs = syncs
    pending = [Query("begin \(mode)")]
    hasBegun = false
    patience = settings.statementTimeout
    turned = .now
  }

  /// Sends what is pending with a commit, and waits until it is durable.
  ///
  /// - Throws: `outcomeUnknown` when the connection broke before the answer.
  func commit() async throws(DatabaseError) {
    // Only the begin is pending: nothing was done.
    if !hasBegun, pending.count <= 1 {
      pending = []
      return
    }
    let queries = pending + [Query("commit")]
    pending = []
    let (results, error) = await flight(queries, isSynced: true)
    if results.count == queries.count, let last = results.last, last.status == PGRES_COMMAND_OK {
      hasBegun = false
      // A transaction that failed before answers a commit with this.
      if last.tag == "ROLLBACK" { throw .failed(code: 0, "the transaction had failed before its commit") }
      return
    }
    if isBroken { throw .outcomeUnknown }
    throw error ?? .outcomeUnknown
  }

  func rollback() async {
    pending = []
    if hasBegun, !isBroken { _ = await flight([Query("rollback")], isSynced: true, isRollback: true) }
    hasBegun = false
  }

  // MARK: Statements

  /// Sends the queries together; an answer for each.
  func exchange(_ queries: [Query]) async throws(DatabaseError) -> [PostgresResult] {
    let before = pending.count
    let (results, error) = await flight(pending + queries, isSynced: syncs == .everyFlight)
    pending = []
    if let error { throw error }
    changes = results.last?.changes ?? 0
    return Array(results.dropFirst(before))
  }

  /// Sends the query with the next exchange or the commit; its failure fails that.
  func enqueue(_ query: Query) {
    pending.append(query)
  }

  /// Runs statements that are parted by semicolons.
  func script(_ sql: String) async throws(DatabaseError) {
    if !pending.isEmpty || isUnsynced {
      let (_, error) = await flight(pending, isSynced: true)
      pending = []
      if let error { throw error }
    }
    guard unsafe PQexitPipelineMode(handle) == 1 else { throw lost() }
    defer { unsafe PQenterPipelineMode(handle) }
    try await run(script: sql)
  }

  // MARK: The wire

  private enum Step {
    case preparation(of: String)
    case statement
    case sync
  }

  /// The answers that came, and the first failure. Everything after a failure was not run.
  private func flight(
    _ queries: [Query], isSynced: Bool, isRollback: Bool = false
  ) async -> (results: [PostgresResult], error: DatabaseError?) {
    guard !isBroken else { return ([], .unavailable("the connection is lost")) }
    guard isRollback || !isPassedOver else { return ([], Self.failedBefore) }
    var preparing: [String: String] = [:]
    let steps: [Step]
    do throws(DatabaseError) {
      steps = try await send(queries, &preparing, isSynced: isSynced)
    } catch {
      isBroken = true
      return ([], error)
    }
    hasBegun = true
    isUnsynced = !isSynced
    traffic.note(syncs: steps.count { if case .sync = $0 { true } else { false } })
    var results: [PostgresResult] = []
    var failure: DatabaseError?
    do throws(DatabaseError) {
      let deadline = Self.deadline(patience + 5_000)
      for (index, step) in steps.enumerated() {
        if index & 31 == 31 { await breathe() }
        guard let result = try await next(until: deadline) else { throw lost() }
        if case .sync = step {
          guard result.status == PGRES_PIPELINE_SYNC else { throw lost() }
          continue
        }
        _ = try await next(until: deadline)
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
          if case .preparation(let sql) = step {
            prepared[sql] = preparing[sql]
          } else {
            results.append(result)
          }
        case PGRES_PIPELINE_ABORTED: failure = failure ?? Self.failedBefore
        default:
          let (state, message) = result.failure
          failure = failure ?? (state.isEmpty ? lost() : .of(state: state, message))
          if unsafe PQstatus(handle) == CONNECTION_BAD { throw failure ?? lost() }
        }
      }
    } catch {
      isBroken = true
      return (results, failure ?? error)
    }
    isPassedOver = failure != nil && !isSynced
    return (results, failure)
  }

  private static let failedBefore = DatabaseError.failed(code: 0, "the transaction had failed before")

  /// Everything of a flight, which then goes out while its answers are waited for.
  private func send(
    _ queries: [Query], _ preparing: inout [String: String], isSynced: Bool
  ) async throws(DatabaseError) -> [Step] {
    var steps: [Step] = []
    if isPassedOver {
      guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
      steps.append(.sync)
    }
    for (index, query) in queries.enumerated() {
      // Short flights are sent at once: who holds locks is not to wait for others.
      if index & 31 == 31 { await breathe() }
      let parameters = PostgresParameters(query.values)
      var name = prepared[query.sql] ?? preparing[query.sql]
      if name == nil {
        let fresh = "s\(prepared.count + preparing.count)"
        try prepare(fresh, query.sql, parameters)
        preparing[query.sql] = fresh
        steps.append(.preparation(of: query.sql))
        name = fresh
      }
      try send(name ?? "", parameters)
      steps.append(.statement)
    }
    if isSynced { steps.append(.sync) }
    guard unsafe isSynced ? PQpipelineSync(handle) == 1 : PQsendFlushRequest(handle) == 1 else {
      throw lost()
    }
    return steps
  }

  private func prepare(
    _ name: String, _ sql: String, _ parameters: PostgresParameters
  ) throws(DatabaseError) {
    let sent = unsafe parameters.types.withUnsafeBufferPointer {
      unsafe PQsendPrepare(handle, name, sql, Int32(parameters.types.count), $0.baseAddress)
    }
    if sent != 1 { throw lost() }
  }

  private func send(_ name: String, _ parameters: PostgresParameters) throws(DatabaseError) {
    let sent = unsafe parameters.buffer.withUnsafeBufferPointer { buffer in
      unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
        let values = unsafe parameters.offsets.map { offset in
          unsafe offset.flatMap { at in unsafe characters.baseAddress.map { unsafe $0 + at } }
        }
        return unsafe PQsendQueryPrepared(
          handle, name, Int32(values.count), values, parameters.lengths, parameters.formats, 0)
      }
    }
    if sent != 1 { throw lost() }
  }

  /// Outside of pipelines.
  private func run(script: String) async throws(DatabaseError) {
    guard unsafe PQsendQuery(handle, script) == 1 else { throw lost() }
    hasBegun = true
    let deadline = Self.deadline(patience + 5_000)
    var failure: DatabaseError?
    while let result = try await next(until: deadline) {
      guard result.status == PGRES_FATAL_ERROR else { continue }
      let (state, message) = result.failure
      failure = failure ?? (state.isEmpty ? lost() : .of(state: state, message))
    }
    if unsafe PQstatus(handle) == CONNECTION_BAD { isBroken = true }
    if let failure { throw failure }
  }

  /// The next answer; nil where one command's answers end.
  private func next(until deadline: MonotonicTime) async throws(DatabaseError) -> PostgresResult? {
    while unsafe PQisBusy(handle) == 1 {
      let unsent = unsafe PQflush(handle)
      if unsent < 0 { throw lost() }
      switch await socket.wait(for: unsent == 1 ? [.readable, .writable] : .readable, until: deadline) {
      case .ready: turned = .now
      case .late:
        isBroken = true
        throw .timedOut
      case .failed: throw lost()
      }
      if unsafe PQconsumeInput(handle) == 0 { throw lost() }
    }
    return unsafe PQgetResult(handle).map { unsafe PostgresResult($0) }
  }

  private func lost() -> DatabaseError {
    isBroken = true
    return .unavailable("the connection is lost")
  }

  private static func deadline(_ milliseconds: Int32) -> MonotonicTime { .now + .milliseconds(milliseconds) }
}
