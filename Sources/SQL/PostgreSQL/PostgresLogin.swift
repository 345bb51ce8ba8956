import CPostgres
import Glibc
import System

/// libpq's connection, logged in. Whoever has the last reference ends it.
@safe final class PostgresHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe PQfinish(pointer) }
}

/// Makes connections, each on a thread of its own that ends with it: libpq looks names up by calls that block, reads
/// files, and proving who both are takes milliseconds of computing. No event loop is to wait for any of that.
enum PostgresLogin {
  /// - Throws: `timedOut` when it takes longer than the settings allow, whatever the thread still waits for.
  static func open(
    _ settings: PostgresSettings, for loop: EventLoop
  ) async throws(DatabaseError) -> PostgresHandle {
    let keywords = try settings.keywords()
    let limit = Duration.milliseconds(settings.connectTimeout)
    let result = await unsafe withUnsafeContinuation { continuation in
      let caller = unsafe Caller(continuation)
      // The thread itself watches the time wherever it can.
      loop.schedule(after: limit + .seconds(1)) { caller.answer(.failure(.timedOut)) }
      let isStarted = Worker.start {
        let result: Result<PostgresHandle, DatabaseError>
        do throws(DatabaseError) {
          result = .success(try handle(keywords, until: .now + limit))
        } catch {
          result = .failure(error)
        }
        // Handed over by the loop's own lock: whoever resumes is on the thread of who waits.
        loop.execute { caller.answer(result) }
      }
      if !isStarted { caller.answer(.failure(.unavailable("no thread for a connection"))) }
    }
    return try result.get()
  }

  private static func handle(
    _ settings: [(String, String)], until deadline: MonotonicTime
  ) throws(DatabaseError) -> PostgresHandle {
    let keywords = CStrings(settings.map(\.0))
    let values = CStrings(settings.map(\.1))
    let started = unsafe withExtendedLifetime((keywords, values)) {
      unsafe PQconnectStartParams(keywords.base, values.base, 0)
    }
    guard let pointer = unsafe started else { throw .unavailable("no memory for a connection") }
    let handle = unsafe PostgresHandle(pointer)
    unsafe bramley_pq_silence(pointer)
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      let isBad = unsafe PQstatus(pointer) == CONNECTION_BAD
      if state == PGRES_POLLING_FAILED || isBad {
        throw .refusal(unsafe String(cString: PQerrorMessage(pointer)))
      }
      try unsafe wait(
        for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT, at: PQsocket(pointer), until: deadline)
      state = unsafe PQconnectPoll(pointer)
    }
    unsafe PQsetnonblocking(pointer, 1)
    return handle
  }

  private static func wait(
    for events: Int32, at socket: Int32, until deadline: MonotonicTime
  ) throws(DatabaseError) {
    while true {
      let left = deadline.nanoseconds - MonotonicTime.now.nanoseconds
      guard left > 0 else { throw .timedOut }
      var waiting = pollfd(fd: socket, events: Int16(events), revents: 0)
      let ready = unsafe poll(&waiting, 1, Int32(clamping: left / 1_000_000 + 1))
      if ready > 0 { return }
      if ready < 0, errno != EINTR { throw .unavailable("the connection is lost") }
    }
  }

  /// Is answered once, by who comes first.
  @safe private final class Caller: @unchecked Sendable {
    typealias Answer = Result<PostgresHandle, DatabaseError>

    private let lock = Lock()
    private var continuation: UnsafeContinuation<Answer, Never>?

    init(_ continuation: UnsafeContinuation<Answer, Never>) { unsafe self.continuation = continuation }

    func answer(_ answer: Answer) {
      let waiting = unsafe lock.withLock { () -> UnsafeContinuation<Answer, Never>? in
        defer { unsafe continuation = nil }
        return unsafe continuation
      }
      if let waiting = unsafe waiting { unsafe waiting.resume(returning: answer) }
    }
  }
}
