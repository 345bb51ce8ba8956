import SQL
import Server
import Stores
import System

extension StoredState {
  /// How the database of a configuration is, without changing it.
  static func finding(_ configuration: Configuration) async -> Finding {
    let data = DataDirectory(path: configuration.data)
    guard Files.exists(data.database) else {
      return Finding(.note, "database", "\(data.database) is not there yet: serve will make it")
    }
    do {
      let database = try Database(.readOnlyFile(data.database))
      defer { database.close() }
      if configuration.deployment == .production, try await database.meta(mark) != nil {
        return Finding(.bad, "database", "\(data.database) was used by `bramley dev`; production refuses it")
      }
      let pending = try await Migrator(Schema.migrations).pending(database)
      return Finding(
        .good, "database",
        data.database + (pending.isEmpty ? "" : ", to be migrated by \(pending.count) steps"))
    } catch {
      return Finding(.bad, "database", "\(error)")
    }
  }
}
