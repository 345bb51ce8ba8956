import System

/// Whether the server can be reached, for all connections of a pool: when it cannot, callers are told so at once,
/// and it is tried again after a pause that grows.
final class PostgresReach: Sendable {
  private struct State {
    var quietUntil: Int64 = 0
    var pause: Int64 = 0
    var last = DatabaseError.closed
    var live = 0
    var trying = 0
  }

  let traffic = PostgresTraffic()
  private let state = Locked(State())
  private static let shortest: Int64 = 100_000_000
  private static let longest: Int64 = 3_000_000_000

  /// A new connection; fails without trying while a pause lasts.
  func connect(
    _ settings: PostgresSettings, on loop: EventLoop
  ) async throws(DatabaseError) -> PostgresConnection {
    let refusal = state.withLock { state -> DatabaseError? in
      if state.quietUntil > MonotonicTime.now.nanoseconds { return state.last }
      state.trying += 1
      return nil
    }
    if let refusal { throw refusal }
    do throws(DatabaseError) {
      let handle = try await PostgresLogin.open(settings, for: loop)
      let connection = PostgresConnection(handle, on: loop, settings, traffic)
      do throws(DatabaseError) {
        try await connection.greet()
      } catch {
        connection.leave()
        throw error
      }
      state.withLock {
        $0.pause = 0
        $0.quietUntil = 0
        $0.trying -= 1
      }
      return connection
    } catch {
      state.withLock {
        $0.trying -= 1
        $0.pause = min(max($0.pause * 2, Self.shortest), Self.longest)
        $0.quietUntil = MonotonicTime.now.nanoseconds + $0.pause
        $0.last = error == .timedOut ? .unavailable("no connection came about in time") : error
      }
      throw error == .timedOut ? .unavailable("no connection came about in time") : error
    }
  }

  /// The pool has one more connection.
  func joined() { state.withLock { $0.live += 1 } }

  /// The pool has given one up.
  func lost() { state.withLock { $0.live -= 1 } }

  /// Whether the pool has other connections or is making some, as far as is known. Those of lanes serve nobody else.
  var hasOthers: Bool { state.withLock { $0.live > 0 || $0.trying > 0 } }
}
