import SQL
import Server
import Stores
import System

extension StoredState {
  /// How the database of a configuration is, without changing it.
  static func finding(_ configuration: Configuration) async -> Finding {
    let place = DatabasePlace(configuration)
    guard place.exists else {
      return Finding(.note, "database", "\(place.name) is not there yet: serve will make it")
    }
    do {
      let database = try place.openReadOnly()
      defer { database.close() }
      if configuration.deployment == .production, try await database.meta(mark) != nil {
        return Finding(.bad, "database", "\(place.name) was used by `bramley dev`; production refuses it")
      }
      let pending = try await Migrator(Schema.migrations).pending(database)
      return Finding(
        .good, "database",
        place.name + (pending.isEmpty ? "" : ", to be migrated by \(pending.count) steps"))
    } catch {
      return Finding(.bad, "database", "\(error)")
    }
  }
}
