import SQL
import System
import Testing

extension Database {
  /// Does the work while a statement's locks are held by a connection of this database, on PostgreSQL.
  func holding<Value>(_ sql: String, _ work: () async throws -> Value) async throws -> Value {
    let isHeld = Locked(false)
    let isOver = Locked(false)
    async let held: Void = write { transaction in
      try await transaction.forEach(sql) { _ in }
      isHeld.withLock { $0 = true }
      // Whoever else is served where this is has their turn meanwhile.
      while !isOver.withLock({ $0 }) { try await transaction.forEach("select pg_sleep(0.002)") { _ in } }
    }
    while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    isOver.withLock { $0 = true }
    // What it locked may have been taken from it.
    _ = try? await held
    return try result.get()
  }
}
