import CPostgres
import Glibc
import System

/// One connection to a PostgreSQL server. It belongs to one thread, which waits for the socket with a deadline;
/// libpq itself never blocks. Statements are prepared once and sent in pipelines that end with one Sync.
@safe final class PostgresConnection {
  private let handle: OpaquePointer
  private let settings: PostgresSettings
  private var prepared: [String: String] = [:]
  /// Statements that go out with the next flight.
  private var pending: [Query] = []
  /// Whether something of the current transaction was sent.
  private var hasBegun = false
  /// Whether it is of no use any more: what it was doing was not committed, unless a commit was under way.
  private(set) var isBroken = false
  /// The rows that the last statement changed.
  private(set) var changes = 0
  /// How long a statement of this transaction may take at the server, milliseconds; ours to end it, if the server
  /// does not, is a little longer.
  var patience: Int32

  init(_ settings: PostgresSettings) throws(DatabaseError) {
    self.settings = settings
    patience = settings.statementTimeout
    let pairs = try settings.keywords()
    let keywords = CStrings(pairs.map(\.0))
    let values = CStrings(pairs.map(\.1))
    let started = unsafe withExtendedLifetime((keywords, values)) {
      unsafe PQconnectStartParams(keywords.base, values.base, 0)
    }
    guard let started = unsafe started else { throw .unavailable("no memory for a connection") }
    unsafe handle = started
    unsafe bramley_pq_silence(handle)
    let deadline = Self.deadline(settings.connectTimeout)
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      let isBad = unsafe PQstatus(handle) == CONNECTION_BAD
      if state == PGRES_POLLING_FAILED || isBad {
        throw Self.refusal(unsafe String(cString: PQerrorMessage(handle)))
      }
      try wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until: deadline)
      state = unsafe PQconnectPoll(handle)
    }
    unsafe PQsetnonblocking(handle, 1)
    try run(script: settings.greeting)
    unsafe PQenterPipelineMode(handle)
  }

  deinit {
    unsafe PQfinish(handle)
  }

  // MARK: Transactions

  /// Takes effect with the first statement.
  func begin(_ mode: String) {
    pending = [Query("begin \(mode)")]
    hasBegun = false
    patience = settings.statementTimeout
  }

  /// Sends what is pending with a commit, and waits until it is durable.
  ///
  /// - Throws: `outcomeUnknown` when the connection broke before the answer.
  func commit() throws(DatabaseError) {
    // Only the begin is pending: nothing was done.
    if !hasBegun, pending.count <= 1 {
      pending = []
      return
    }
    let queries = pending + [Query("commit")]
    pending = []
    let (results, error) = flight(queries)
    if results.count == queries.count, let last = results.last, last.status == PGRES_COMMAND_OK {
      hasBegun = false
      // A transaction that failed before answers a commit with this.
      if last.tag == "ROLLBACK" { throw .failed(code: 0, "the transaction had failed before its commit") }
      return
    }
    if isBroken { throw .outcomeUnknown }
    throw error ?? .outcomeUnknown
  }

  func rollback() {
    pending = []
    if hasBegun, !isBroken { _ = flight([Query("rollback")]) }
    hasBegun = false
  }

  // MARK: Statements

  /// Sends the queries together; an answer for each.
  func exchange(_ queries: [Query]) throws(DatabaseError) -> [PostgresResult] {
    let before = pending.count
    let (results, error) = flight(pending + queries)
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
  func script(_ sql: String) throws(DatabaseError) {
    if !pending.isEmpty { _ = try exchange([]) }
    guard unsafe PQexitPipelineMode(handle) == 1 else { throw lost() }
    defer { unsafe PQenterPipelineMode(handle) }
    try run(script: sql)
  }

  // MARK: The wire

  /// The answers that came, and the first failure. Everything after a failure was not run.
  private func flight(_ queries: [Query]) -> (results: [PostgresResult], error: DatabaseError?) {
    guard !isBroken else { return ([], .unavailable("the connection is lost")) }
    var preparing: [String: String] = [:]
    var steps: [(sql: String, isPreparation: Bool)] = []
    do throws(DatabaseError) {
      for query in queries {
        let parameters = PostgresParameters(query.values)
        var name = prepared[query.sql] ?? preparing[query.sql]
        if name == nil {
          let fresh = "s\(prepared.count + preparing.count)"
          try prepare(fresh, query.sql, parameters)
          preparing[query.sql] = fresh
          steps.append((query.sql, true))
          name = fresh
        }
        try send(name ?? "", parameters)
        steps.append((query.sql, false))
      }
      guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
    } catch {
      isBroken = true
      return ([], error)
    }
    hasBegun = true
    var results: [PostgresResult] = []
    var failure: DatabaseError?
    do throws(DatabaseError) {
      let deadline = Self.deadline(patience + 5_000)
      for step in steps {
        guard let result = try next(until: deadline) else { throw lost() }
        _ = try next(until: deadline)
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
          if step.isPreparation { prepared[step.sql] = preparing[step.sql] } else { results.append(result) }
        case PGRES_PIPELINE_ABORTED: break
        default:
          let (state, message) = result.failure
          failure = failure ?? (state.isEmpty ? lost() : .of(state: state, message))
          if unsafe PQstatus(handle) == CONNECTION_BAD { throw failure ?? lost() }
        }
      }
      guard let sync = try next(until: deadline), sync.status == PGRES_PIPELINE_SYNC else { throw lost() }
    } catch {
      isBroken = true
      return (results, failure ?? error)
    }
    return (results, failure)
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
  private func run(script: String) throws(DatabaseError) {
    guard unsafe PQsendQuery(handle, script) == 1 else { throw lost() }
    hasBegun = true
    let deadline = Self.deadline(patience + 5_000)
    var failure: DatabaseError?
    while let result = try next(until: deadline) {
      guard result.status == PGRES_FATAL_ERROR else { continue }
      let (state, message) = result.failure
      failure = failure ?? (state.isEmpty ? lost() : .of(state: state, message))
    }
    if unsafe PQstatus(handle) == CONNECTION_BAD { isBroken = true }
    if let failure { throw failure }
  }

  /// The next answer; nil where one command's answers end.
  private func next(until deadline: Int64) throws(DatabaseError) -> PostgresResult? {
    while unsafe PQisBusy(handle) == 1 {
      let unsent = unsafe PQflush(handle)
      if unsent < 0 { throw lost() }
      try wait(unsent == 1 ? POLLIN | POLLOUT : POLLIN, until: deadline)
      if unsafe PQconsumeInput(handle) == 0 { throw lost() }
    }
    return unsafe PQgetResult(handle).map { unsafe PostgresResult($0) }
  }

  private func wait(_ events: Int32, until deadline: Int64) throws(DatabaseError) {
    while true {
      let left = deadline - MonotonicTime.now.nanoseconds
      guard left > 0 else {
        isBroken = true
        throw .timedOut
      }
      var waiting = unsafe pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
      let ready = unsafe poll(&waiting, 1, Int32(clamping: left / 1_000_000 + 1))
      if ready > 0 { return }
      if ready < 0, errno != EINTR { throw lost() }
    }
  }

  private func lost() -> DatabaseError {
    isBroken = true
    return .unavailable("the connection is lost")
  }

  /// libpq's own words when no connection comes about; the last line says why.
  private static func refusal(_ message: String) -> DatabaseError {
    let words = message.split(separator: "\n").joined(separator: "; ")
    return .unavailable(words + (remedy(message).map { "; " + $0 } ?? ""))
  }

  /// What to do about a transport that does not come about.
  private static func remedy(_ message: String) -> String? {
    if message.contains("certificate verify failed") {
      return "name the authority's certificate by sslrootcert in the URL"
    }
    if message.contains("does not support SSL") {
      return "turn TLS on at the server; only in a network of your own say sslmode=disable in the URL"
    }
    return nil
  }

  private static func deadline(_ milliseconds: Int32) -> Int64 {
    MonotonicTime.now.nanoseconds + Int64(milliseconds) * 1_000_000
  }
}

/// C strings with a nil after the last, for as long as this lives.
@safe private final class CStrings {
  let base: UnsafeMutablePointer<UnsafePointer<CChar>?>
  private let count: Int

  init(_ texts: [String]) {
    count = texts.count
    unsafe base = .allocate(capacity: texts.count + 1)
    for (index, text) in texts.enumerated() {
      unsafe (base + index).initialize(to: UnsafePointer(strdup(text)))
    }
    unsafe (base + texts.count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { unsafe free(UnsafeMutablePointer(mutating: base[index])) }
    unsafe base.deallocate()
  }
}
