import SQL
import Server
import Stores
import System

/// What is kept between runs.
enum StoredState {
  /// What it is opened for.
  enum Use: Sendable, Equatable {
    /// `dev`: marks it for good, since keys of the simulated Apple are in it.
    case simulation
    /// `serve` in production: refuses one that is marked (RULES §1.6).
    case production
    /// Anything else.
    case development
  }

  static let mark = "used_by_dev"

  /// Opens it, brings its schema up to date, and checks or sets the mark.
  ///
  /// - Parameter loops: on which a server's connections are; nil for one of their own.
  /// - Returns: with the claim that keeps `restore` away for as long as it is kept.
  static func open(
    _ place: DatabasePlace, use: Use, loops: EventLoopGroup? = nil
  ) async throws -> (database: Database, claim: FileLock?) {
    let claim = try place.claim()
    let database = try place.open(on: loops)
    do {
      try await Schema.migrate(database, now: WallClock.seconds)
      try await requireCopy(database, place)
      switch use {
      case .simulation: try await database.setMeta(mark, "yes")
      case .development: break
      case .production:
        guard try await database.meta(mark) == nil else {
          throw CommandFailure(
            message: "\(place.name) was used by `bramley dev` and may hold keys of simulated phones; "
              + "production needs a database of its own", code: .configuration)
        }
      }
      return (database, claim)
    } catch {
      database.close()
      if let error = error as? DatabaseError { throw CommandFailure(message: "\(place.name): \(error)") }
      throw error
    }
  }

  /// Refuses a database that `bramley copy` has left, or is not done with.
  private static func requireCopy(_ database: Database, _ place: DatabasePlace) async throws {
    if let other = try await database.meta(DatabaseCopy.Mark.moved) {
      throw CommandFailure(
        message: "\(place.name) was copied to \(other): two servers would accept the same requests; "
          + "`bramley copy --abandon` gives it free", code: .configuration)
    }
    if try await database.meta(DatabaseCopy.Mark.incomplete) != nil {
      throw CommandFailure(
        message: "the copy into \(place.name) is not complete: run `bramley copy` again", code: .configuration
      )
    }
  }

  /// The right to use the database beside others.
  static func claim(_ data: DataDirectory) throws -> FileLock {
    guard let claim = try FileLock(data.lock, shared: true) else {
      throw CommandFailure(message: "`bramley restore` is at work in \(data.path)")
    }
    return claim
  }

  /// What a configuration opens it for.
  static func use(_ configuration: Configuration) -> Use {
    configuration.deployment == .production ? .production : .development
  }
}
